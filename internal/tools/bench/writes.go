package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

// wantFencedWrites is the goal: a write with a fence takes at most so many times the time of the
// same without.
const wantFencedWrites = 1.3

// setScript is the least that a check in Redis costs: a script, without a check.
var setScript = redis.NewScript("return redis.call('SET', KEYS[1], ARGV[1])")

func (b *bench) redisWrites(s *server) {
	t := b.report.table("Fenced writes in Redis",
		"A write to 1,000 keys under one lock: by fenceredis, whose script compares the token, keeps it and runs SET; by a script that does nothing but SET; and by SET alone. All use go-redis, with one client for all connections. In rows \"pipelined\" an AutoPipeliner of go-redis sends concurrent requests together.",
		"connections", "", "writes/s", "of SET, time", "processor time a write of Redis, client")
	b.sweep(t, nil, manyConns, func(conns int) []result {
		client := redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: conns, MaxRetries: -1})
		defer client.Close()
		pipelined := fail.Must(client.AutoPipeline())
		fenced := func(client redis.UniversalClient) work {
			store := fenceredis.Store{Client: client}
			return writing(conns, func(ctx context.Context, _, n int) {
				fail.Must(store.Do(ctx, fence.Claim{Scope: "lock", Token: 34}, fenceredis.Cmd("SET", fenceredis.Tag("lock")+key(n, fewKeys), value)))
			})
		}
		set := func(client redis.UniversalClient) work {
			return writing(conns, func(ctx context.Context, _, n int) {
				fail.If(client.Set(ctx, fenceredis.Tag("lock")+key(n, fewKeys), value, 0).Err())
			})
		}
		return b.race(
			contender{"fenceredis", fenced(client), s},
			contender{"SET", set(client), s},
			contender{"SET in a script", writing(conns, func(ctx context.Context, _, n int) {
				fail.If(setScript.Run(ctx, client, []string{fenceredis.Tag("lock") + key(n, fewKeys)}, value).Err())
			}), s},
			contender{"fenceredis, pipelined", fenced(pipelined), s},
			contender{"SET, pipelined", set(pipelined), s})
	}, goal{what: "fenced writes in Redis, by connections; time of SET's", aim: atMost, want: wantFencedWrites},
		timeOf, processorTime)
}

func (b *bench) sqlWrites(d *database, s *server, t *table) {
	db, end := dialDatabase(s.addr)
	defer end()
	store := &fencesql.Store{DB: db, Dialect: d.fences}
	fail.If(store.Create(context.Background()))
	fillRows(d, db)
	fenced := d.statement("UPDATE data SET value = ?, token = ? WHERE id = ? AND token <= ?")
	mark := d.statement("SELECT token FROM data WHERE id = ? FOR UPDATE")
	bare := d.statement("UPDATE data SET value = ? WHERE id = ?")
	for _, conns := range []int{1, 16} {
		// Each writer has a scope and values of its own.
		rows := func(name string, write func(ctx context.Context, c fence.Claim, key, value string)) contender {
			return contender{name, writing(conns, func(ctx context.Context, i, n int) {
				write(ctx, fence.Claim{Scope: ownLock(i), Token: 34}, key(n, fewKeys), strconv.Itoa(n))
			}), nil}
		}
		results := b.race(
			rows("UPDATE by fencesql", func(ctx context.Context, c fence.Claim, key, value string) {
				fail.Must(store.Update(ctx, c, fencesql.Statement{Text: mark, Args: []any{key}},
					fencesql.Statement{Text: fenced, Args: []any{value, int64(c.Token), key, int64(c.Token)}}))
			}),
			rows("UPDATE", func(ctx context.Context, _ fence.Claim, key, value string) {
				fail.Must(db.ExecContext(ctx, bare, value, key))
			}),
			rows("transaction by fencesql", func(ctx context.Context, c fence.Claim, key, value string) {
				fail.If(store.Do(ctx, c, func(ctx context.Context) error {
					_, err := fencesql.Tx(ctx).ExecContext(ctx, bare, value, key)
					return err
				}))
			}),
			rows("transaction", func(ctx context.Context, _ fence.Claim, key, value string) {
				tx := fail.Must(db.BeginTx(ctx, nil))
				defer tx.Rollback()
				fail.Must(tx.ExecContext(ctx, bare, value, key))
				fail.If(tx.Commit())
			}))
		for i, what := range []string{"an UPDATE", "a transaction"} {
			pair := results[2*i : 2*i+2]
			t.compare([]string{d.name, strconv.Itoa(conns)}, pair, pair[1], timeOf)
			b.report.reach(goal{what: what + " with a fence in " + d.name + ", by connections; time of the same without", of: strconv.Itoa(conns),
				aim: atMost, want: wantFencedWrites}, pair[0], pair[1])
		}
	}
}

func fillRows(d *database, db *sql.DB) {
	fail.Must(db.Exec("CREATE TABLE data (id varchar(16) PRIMARY KEY, value varchar(40) NOT NULL, token bigint NOT NULL)"))
	insert := d.statement("INSERT INTO data (id, value, token) VALUES (?, '', 0)")
	for i := range fewKeys {
		fail.Must(db.Exec(insert, name(i)))
	}
}

// writers is how many write at once where writes are durable.
const writers = 64

func (b *bench) durable() {
	ours, etcd := b.boltStorage("bolt"), b.launch(startEtcd)
	bare := dial(ours.addr, writers, put(fewKeys, 1))
	defer bare.close()
	clients := make([]*kvhttp.Client, writers)
	for i := range clients {
		clients[i] = kvhttp.NewClient("http://"+ours.addr, kvhttp.ClientOptions{})
		defer clients[i].Close()
	}
	byClient := writing(writers, func(ctx context.Context, i, n int) {
		key := key(n, fewKeys)
		fail.Must(clients[i].Write(ctx, kv.Request{Claim: fence.Claim{Scope: key, Token: 34}}, key, value))
	})
	shared, end := dialEtcd(etcd.addr) // by all, as the goroutines of a service do
	defer end()
	byTxn := writing(writers, func(ctx context.Context, _, n int) {
		fail.Must(shared.Txn(ctx).Then(clientv3.OpPut(key(n, fewKeys), value)).Commit()) // no check
	})
	disk := fail.Must(os.Create(filepath.Join(b.group.Dir, "syncs")))
	defer disk.Close()
	results := b.race(
		contender{"storage, engine bolt, by its Go client", byClient, ours},
		contender{"storage, engine bolt, bare connections", bare.turn, ours},
		contender{"etcd, Txn with one put, by its Go client", byTxn, etcd},
		contender{"disk: 4 KiB appended, fdatasync", syncing(disk, true), nil},
		contender{"disk: 4 KiB in place, fdatasync", syncing(disk, false), nil})
	t := b.report.table("Durable, 64 writers",
		"Acknowledged writes of 1,000 keys, all synced to the same disk.",
		"", "writes/s", "of etcd", "of disk", "processor time a write of server, client")
	client, byHand, txn, appended, inPlace := results[0], results[1], results[2], results[3], results[4]
	t.compare(nil, results, txn, partOf,
		func(r, _ result) string { return partOf(r, appended) },
		func(r, _ result) string {
			if r.server[0] == 0 {
				return ""
			}
			return processorTime(r, r)
		})
	b.report.goal("durable, 64 writers, both by their Go clients; rate of etcd's", "", atLeast, 1, ratios(client.rates, txn.rates))
	b.report.goal("durable, 64 writers; rate of the disk's single syncs", "appended", atLeast, 10, ratios(byHand.rates, appended.rates))
	b.report.goal("durable, 64 writers; rate of the disk's single syncs", "in place", atLeast, 10, ratios(byHand.rates, inPlace.rates))
}

// syncing writes and syncs a block of a file after another by one writer: blocks that are
// appended, or the first one again and again, which a filesystem has less to do for.
func syncing(f *os.File, appended bool) work {
	block := make([]byte, 4096)
	return writing(1, func(_ context.Context, _, n int) {
		if !appended {
			n = 0
		}
		fail.Must(f.WriteAt(block, int64(n*len(block))))
		named("fdatasync", unix.Fdatasync(int(f.Fd())))
	})
}

// storages measures how writes grow with the storages before one etcd.
func (b *bench) storages() {
	etcd := b.launch(startEtcd)
	client, end := dialEtcd(etcd.addr)
	defer end()
	t := b.report.table("Storages before one etcd", fmt.Sprintf(
		"Writes of 1,000 keys, each its own lock, by %d connections, which are spread over storages with the engine etcd; and by fenceetcd in this process, by one client of etcd. *of one storage*: the rate relative to one storage, of the same round. The processor times say more where all share a few processors.", writers),
		"storages", "writes/s", "of one storage", "processor time a write of etcd, client", "of all storages")
	var cs []contender
	var spent [][]float64
	for _, n := range []int{1, 2, 4} {
		var servers []*server
		var loads []*load
		for range n {
			s := b.storage("--engine", "etcd", "--endpoints", etcd.addr)
			l := dial(s.addr, writers/n, put(fewKeys, 1))
			defer l.close()
			servers, loads = append(servers, s), append(loads, l)
		}
		turn := working(writers, 1, func(_ context.Context, i int) { loads[i%n].send(i / n) })
		i := len(spent)
		spent = append(spent, nil)
		cs = append(cs, contender{strconv.Itoa(n), func(d time.Duration) (int, time.Duration) {
			before := usedBy(servers)
			ops, took := turn(d)
			spent[i] = append(spent[i], float64((usedBy(servers)-before).Nanoseconds())/1000/float64(ops))
			return ops, took
		}, etcd})
	}
	results := b.race(append(cs, contender{"none, fenceetcd", writing(writers, func(ctx context.Context, _, n int) {
		key := key(n, fewKeys)
		fail.Must(fenceetcd.Do(ctx, client, fence.Claim{Scope: key, Token: 34}, clientv3.OpPut(key, value)))
	}), etcd})...)
	t.compare(nil, results, results[0], partOf, processorTime)
	for i := range spent {
		t.rows[i] = append(t.rows[i], micros(spent[i]))
	}
	t.rows[len(spent)] = append(t.rows[len(spent)], "")
}

// usedBy is the processor time that servers have taken so far.
func usedBy(servers []*server) (sum time.Duration) {
	for _, s := range servers {
		_, used := s.used()
		sum += used
	}
	return sum
}
