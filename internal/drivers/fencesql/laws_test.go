package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// dialects by the name of the driver.
var dialects = map[string]fencesql.Dialect{"pgx": fencesql.PostgreSQL, "mysql": fencesql.MySQL, "sqlite": fencesql.SQLite}

// in is a statement in the words of a dialect: its arguments are question marks.
func in(d fencesql.Dialect, text string) string {
	if d != fencesql.PostgreSQL {
		return text
	}
	for n := 1; strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", n), 1)
	}
	return text
}

// text is the type of short texts that are told apart by their bytes.
func text(d fencesql.Dialect) string {
	if d == fencesql.MySQL {
		return "VARBINARY(200)"
	}
	return "TEXT"
}

// put is a statement that inserts or replaces an item, by key and value.
func put(d fencesql.Dialect) string {
	if d == fencesql.MySQL {
		return "INSERT INTO items (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)"
	}
	return in(d, "INSERT INTO items (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v")
}

// store is the smallest store on the package.
type store struct {
	*fencesql.Store
	database *sqltest.Database
}

// open opens a store on a database. It closes with ctx.
func open(ctx context.Context, d *sqltest.Database) (store, error) {
	db, err := sql.Open(d.Driver, d.Source)
	if err != nil {
		return store{}, err
	}
	context.AfterFunc(ctx, func() { db.Close() })
	db.SetMaxIdleConns(5) // as many as race
	return store{&fencesql.Store{DB: db, Dialect: dialects[d.Driver]}, d}, nil
}

// empty opens a store on another database of the server, in which it makes its tables.
func empty(ctx context.Context, server *sqltest.Database) (store, error) {
	d, err := server.Another(ctx)
	if err != nil {
		return store{}, err
	}
	s, err := open(ctx, d)
	if err != nil {
		return s, err
	}
	_, err = s.DB.ExecContext(ctx, "CREATE TABLE items (k "+text(s.Dialect)+" PRIMARY KEY, v "+text(s.Dialect)+", token BIGINT NOT NULL DEFAULT 0)")
	return s, errors.Join(err, s.Create(ctx))
}

// exec is an operation of one statement.
func exec(statement string, args ...any) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := fencesql.Tx(ctx).ExecContext(ctx, statement, args...)
		return err
	}
}

func (s store) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.Do(ctx, c, exec(put(s.Dialect), key, value))
}

func (s store) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.Do(ctx, c, exec(in(s.Dialect, "DELETE FROM items WHERE k = ?"), key))
}

func (s store) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	if c.Token == 0 {
		return s.read(ctx, s.DB, key)
	}
	err = s.Do(ctx, c, func(ctx context.Context) (err error) {
		value, ok, err = s.read(ctx, fencesql.Tx(ctx), key)
		return err
	})
	return value, ok, err
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s store) read(ctx context.Context, from querier, key string) (value string, ok bool, err error) {
	err = from.QueryRowContext(ctx, in(s.Dialect, "SELECT v FROM items WHERE k = ?"), key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return value, err == nil, err
}

// fail is a write whose second statement fails.
func fail(ctx context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
	of := s.(store)
	return of.Do(ctx, c, func(ctx context.Context) error {
		if err := exec(put(of.Dialect), key, value)(ctx); err != nil {
			return err
		}
		return exec(in(of.Dialect, "INSERT INTO items (k, v) VALUES (?, ?)"), key, "twice")(ctx)
	})
}

// subject makes stores on a server, whose transactions have these options.
func subject(server *sqltest.Database, options *sql.TxOptions) fencetest.Subject {
	made := func(s store, err error) (store, error) {
		if err == nil {
			s.Options = options
		}
		return s, err
	}
	return fencetest.Subject{
		Open: func(ctx context.Context) (fencetest.Store, error) { return made(empty(ctx, server)) },
		OpenBounded: func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
			s, err := made(empty(ctx, server))
			if err != nil {
				return nil, err
			}
			s.Bound = func(fence.Claim) (fence.Token, error) { return bound, nil }
			return s, nil
		},
		Second: func(ctx context.Context, s fencetest.Store) (fencetest.Store, error) {
			return made(open(ctx, s.(store).database))
		},
		Restart: func(ctx context.Context, s fencetest.Store) (fencetest.Store, error) {
			d := s.(store).database
			if err := errors.Join(d.Kill(), d.Restart(ctx)); err != nil {
				return nil, err
			}
			return made(open(ctx, d))
		},
		Fail:  fail,
		Marks: 300,
		Idle:  time.Second,
	}
}

// TestLaws: no request has to be made again, at the database's own isolation level.
func TestLaws(t *testing.T) {
	for name, database := range sqltest.Databases() {
		t.Run(name, func(t *testing.T) {
			s := subject(database(t), nil)
			fencetest.Run(t, s)
			t.Run("rows", func(t *testing.T) { testUpdateLaws(t, s) })
		})
	}
}

// TestLawsSerializable: at the strictest level, which is SQLite's own, some have to be.
func TestLawsSerializable(t *testing.T) {
	for name, database := range sqltest.Databases() {
		if name == "sqlite" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := subject(database(t), &sql.TxOptions{Isolation: sql.LevelSerializable})
			s.Again = fencesql.Again
			fencetest.Run(t, s)
		})
	}
}
