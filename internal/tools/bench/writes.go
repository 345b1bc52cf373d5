package main

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

// wantFencedWrites is the goal: a write with a fence takes at most so many times the time of the
// same without.
const wantFencedWrites = 1.3

// redisWrites compares writes by fenceredis with bare ones.
func (b *bench) redisWrites(s *server) {
	t := b.report.table("Fenced writes in Redis",
		"A write to 1,000 keys under one lock: by fenceredis, whose script compares the token, keeps it and runs SET; and by SET alone. Both use go-redis, with one client for all connections. *of SET*: the time a write as a part of that of SET, of the same round. *by processor time*: the same, by the time that Redis and client took on the processor.",
		"connections", "", "writes/s", "of SET, time", "by processor time", "processor time a write of Redis, client")
	b.sweep(t, nil, manyConns, func(conns int) []result {
		client := redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: conns, MaxRetries: -1})
		defer client.Close()
		store := fenceredis.Store{Client: client}
		return b.race(
			contender{"fenceredis", writing(conns, func(ctx context.Context, _, n int) error {
				_, err := store.Do(ctx, fence.Claim{Scope: "lock", Token: 34}, fenceredis.Cmd("SET", fenceredis.Tag("lock")+key(n, fewKeys), value))
				return err
			}), s},
			contender{"SET", writing(conns, func(ctx context.Context, _, n int) error {
				return client.Set(ctx, fenceredis.Tag("lock")+key(n, fewKeys), value, 0).Err()
			}), s})
	}, goal{what: "fenced writes in Redis, connections: %d; time of SET's", aim: atMost, want: wantFencedWrites},
		timeOf, timeByProcessor, processorTime)
}

// sqlWrites compares writes by fencesql with bare ones.
func (b *bench) sqlWrites(d *database, s *server, t *table) {
	db, end, err := dialDatabase(s.addr)
	check(err)
	defer end()
	store := &fencesql.Store{DB: db, Dialect: d.fences}
	check(store.Create(context.Background()))
	fillRows(d, db)
	fenced := d.statement("UPDATE data SET value = ?, token = ? WHERE id = ? AND token <= ?")
	mark := d.statement("SELECT token FROM data WHERE id = ? FOR UPDATE")
	bare := d.statement("UPDATE data SET value = ? WHERE id = ?")
	for _, conns := range []int{1, 16} {
		// Each writer has a scope and values of its own.
		rows := func(name string, write func(ctx context.Context, c fence.Claim, key, value string) error) contender {
			return contender{name, writing(conns, func(ctx context.Context, i, n int) error {
				return write(ctx, fence.Claim{Scope: ownLock(i), Token: 34}, key(n, fewKeys), strconv.Itoa(n))
			}), nil}
		}
		results := b.race(
			rows("UPDATE by fencesql", func(ctx context.Context, c fence.Claim, key, value string) error {
				_, err := store.Update(ctx, c, fencesql.Statement{Text: mark, Args: []any{key}},
					fencesql.Statement{Text: fenced, Args: []any{value, int64(c.Token), key, int64(c.Token)}})
				return err
			}),
			rows("UPDATE", func(ctx context.Context, _ fence.Claim, key, value string) error {
				_, err := db.ExecContext(ctx, bare, value, key)
				return err
			}),
			rows("transaction by fencesql", func(ctx context.Context, c fence.Claim, key, value string) error {
				return store.Do(ctx, c, func(ctx context.Context) error {
					_, err := fencesql.Tx(ctx).ExecContext(ctx, bare, value, key)
					return err
				})
			}),
			rows("transaction", func(ctx context.Context, _ fence.Claim, key, value string) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer tx.Rollback()
				if _, err := tx.ExecContext(ctx, bare, value, key); err != nil {
					return err
				}
				return tx.Commit()
			}))
		for i, what := range []string{"an UPDATE", "a transaction"} {
			pair := results[2*i : 2*i+2]
			t.compare([]string{d.name, strconv.Itoa(conns)}, pair, pair[1], timeOf)
			b.report.reach(goal{what: "%s with a fence in %s, connections: %d; time of the same without", aim: atMost, want: wantFencedWrites},
				pair[0], pair[1], what, d.name, conns)
		}
	}
}

// fillRows makes the table that is written to.
func fillRows(d *database, db *sql.DB) {
	must(db.Exec("CREATE TABLE data (id varchar(16) PRIMARY KEY, value varchar(40) NOT NULL, token bigint NOT NULL)"))
	insert := d.statement("INSERT INTO data (id, value, token) VALUES (?, '', 0)")
	for i := range fewKeys {
		must(db.Exec(insert, name(i)))
	}
}
