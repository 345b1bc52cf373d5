package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

// wantSQLWrites is the goal: a write by fencesql takes at most so many times the time of the
// same without a fence.
const wantSQLWrites = 1.3

// sqlWrites compares writes by fencesql with bare ones.
func (b *bench) sqlWrites(d *database, db *sql.DB, t *table) error {
	ctx := context.Background()
	store := &fencesql.Store{DB: db, Dialect: d.fences}
	if err := store.Create(ctx); err != nil {
		return err
	}
	if err := fillRows(ctx, d, db); err != nil {
		return err
	}
	fenced := d.statement("UPDATE data SET value = ?, token = ? WHERE id = ? AND token <= ?")
	mark := d.statement("SELECT token FROM data WHERE id = ? FOR UPDATE")
	bare := d.statement("UPDATE data SET value = ? WHERE id = ?")
	for _, conns := range []int{1, 16} {
		results, err := b.race(
			contender{"UPDATE by fencesql", rowWrites(conns, func(ctx context.Context, c fence.Claim, key, value string) error {
				_, err := store.Update(ctx, c, fencesql.Statement{Text: mark, Args: []any{key}},
					fencesql.Statement{Text: fenced, Args: []any{value, int64(c.Token), key, int64(c.Token)}})
				return err
			}), nil},
			contender{"UPDATE", rowWrites(conns, func(ctx context.Context, _ fence.Claim, key, value string) error {
				_, err := db.ExecContext(ctx, bare, value, key)
				return err
			}), nil},
			contender{"transaction by fencesql", rowWrites(conns, func(ctx context.Context, c fence.Claim, key, value string) error {
				return store.Do(ctx, c, func(ctx context.Context) error {
					_, err := fencesql.Tx(ctx).ExecContext(ctx, bare, value, key)
					return err
				})
			}), nil},
			contender{"transaction", rowWrites(conns, func(ctx context.Context, _ fence.Claim, key, value string) error {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer tx.Rollback()
				if _, err := tx.ExecContext(ctx, bare, value, key); err != nil {
					return err
				}
				return tx.Commit()
			}), nil})
		if err != nil {
			return err
		}
		for i, what := range []string{"an UPDATE", "a transaction"} {
			fenced, bare := results[2*i], results[2*i+1]
			t.compareClock(d.name, conns, bare, fenced, bare)
			b.report.goal(fmt.Sprintf("%s with a fence in %s, connections: %d; time of the same without", what, d.name, conns),
				atMost, wantSQLWrites, ratios(bare.rates, fenced.rates))
		}
	}
	return nil
}

// fillRows makes the table that is written to.
func fillRows(ctx context.Context, d *database, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "CREATE TABLE data (id varchar(16) PRIMARY KEY, value varchar(40) NOT NULL, token bigint NOT NULL)"); err != nil {
		return err
	}
	insert := d.statement("INSERT INTO data (id, value, token) VALUES (?, '', 0)")
	for i := range fewKeys {
		if _, err := db.ExecContext(ctx, insert, string(appendName(nil, i))); err != nil {
			return err
		}
	}
	return nil
}

// rowWrites is a contender's turn: writers write one row after another, each with a scope
// and values of its own.
func rowWrites(writers int, write func(ctx context.Context, c fence.Claim, key, value string) error) func(time.Duration) (int, time.Duration, error) {
	next := make([]int, writers) // of each, its next write
	return func(d time.Duration) (int, time.Duration, error) {
		return takeTurn(writers, d, func(ctx context.Context, i int) error {
			n := next[i]*writers + i
			next[i]++
			claim := fence.Claim{Scope: ownLock(i), Token: 34}
			return write(ctx, claim, string(appendKey(nil, n, fewKeys)), strconv.Itoa(n))
		})
	}
}
