package main

import (
	"fmt"
)

// batchSize is how many writes come together.
const batchSize = 64

// batchKeys is how many keys batches write.
const batchKeys = 10_000

// batches compares batches with Redis.
func (b *bench) batches() error {
	const title = "Batches of 64, in memory"
	path := redisPath()
	if path == "" {
		b.report.note(title, noRedis)
		return nil
	}
	ours, err := b.storage()
	if err != nil {
		return err
	}
	redis, err := b.redis(path)
	if err != nil {
		return err
	}
	sha, err := loadScript(redis.addr)
	if err != nil {
		return err
	}
	t := b.report.table(title,
		"Writes of 10,000 keys under one lock, 64 at a time, over loopback TCP. *of Redis*: the rate as a part of that of Redis with a script a write, of the same round.",
		"connections", "", "writes/s", "of Redis", "processor time a write of server, client")
	for _, conns := range []int{1, 16} {
		results, err := b.raceLoads(conns,
			rival{"storage, POST /v1/batch", ours, batch(batchKeys)},
			rival{"Redis, 64 scripts pipelined", redis, eval(sha, batchKeys)},
			rival{"Redis, one script for all 64", redis, evalBatch(sha, batchKeys)},
			rival{"storage, 64 PUTs pipelined", ours, put(batchKeys, batchSize)})
		if err != nil {
			return err
		}
		for _, r := range results {
			t.add(fmt.Sprint(conns), r.name, rate(r.rates), ratios(r.rates, results[1].rates).String(), micros(r.server)+", "+micros(r.client))
		}
		b.report.goal(fmt.Sprintf("batches of 64, %d connections: rate of Redis with the check in Lua, pipelined by 64", conns),
			atLeast, 1, ratios(results[0].rates, results[1].rates))
	}
	return stop(ours, redis)
}

// batch is a POST /v1/batch of batchSize writes under one lock.
func batch(keys int) exchange { return batchOf(batchSize, keys, 1) }

// batchOf is a POST /v1/batch of so many writes. The locks take turns.
func batchOf(ops, keys, scopes int) exchange {
	body := func(buf []byte, n int) []byte {
		buf = append(buf, `{"ops":[`...)
		for i := range ops {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = appendKey(append(buf, `{"op":"write","key":"`...), n*ops+i, keys)
			buf = append(buf, `","val":"`+value+`"}`...)
		}
		return append(buf, "]}"...)
	}
	size := len(body(nil, 0)) // all have the same
	const head = "POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nFencing-Token: 34\r\nFencing-Scope: lock-%d\r\nContent-Length: %d\r\n\r\n"
	return exchange{
		ops:     ops,
		request: func(buf []byte, n int) []byte { return body(fmt.Appendf(buf, head, n%scopes, size), n) },
		answer:  noContent,
	}
}
