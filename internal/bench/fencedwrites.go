package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
)

// wantFencedWrites is the goal: a write by fenceredis takes at most so many times the time
// of a bare one.
const wantFencedWrites = 1.3

// fencedWrites compares writes by fenceredis with bare ones.
func (b *bench) fencedWrites(s *server) error {
	t := b.report.table("Fenced writes in Redis",
		"A write to 1,000 keys under one lock: by fenceredis, whose script compares the token, keeps it and runs SET; and by SET alone. Both use go-redis, with one client for all connections. *of SET*: the time a write as a part of that of SET, of the same round. *by processor time*: the same, by the time that Redis and client took on the processor.",
		"connections", "", "writes/s", "of SET, time", "by processor time", "processor time a write of Redis, client")
	for _, conns := range []int{1, 16, 64} {
		client := redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: conns, MaxRetries: -1})
		defer client.Close()
		store := fenceredis.Store{Client: client}
		results, err := b.race(
			contender{"fenceredis", writes(conns, func(ctx context.Context, key string) error {
				_, err := store.Do(ctx, fence.Claim{Scope: "lock", Token: 34}, fenceredis.Cmd("SET", fenceredis.Tag("lock")+key, value))
				return err
			}), s},
			contender{"SET", writes(conns, func(ctx context.Context, key string) error {
				return client.Set(ctx, fenceredis.Tag("lock")+key, value, 0).Err()
			}), s})
		if err != nil {
			return err
		}
		fenced, bare := results[0], results[1]
		t.compareTimes(conns, results, bare)
		b.report.goal(fmt.Sprintf("fenced writes in Redis, connections: %d; time of SET's", conns),
			atMost, wantFencedWrites, ratios(bare.rates, fenced.rates))
	}
	return nil
}

// writes is a contender's turn: writers write one key after another.
func writes(writers int, write func(ctx context.Context, key string) error) func(time.Duration) (int, time.Duration, error) {
	next := make([]int, writers) // of each, its next write
	return func(d time.Duration) (int, time.Duration, error) {
		return takeTurn(writers, d, func(ctx context.Context, i int) error {
			n := next[i]*writers + i
			next[i]++
			return write(ctx, string(appendKey(nil, n, fewKeys)))
		})
	}
}
