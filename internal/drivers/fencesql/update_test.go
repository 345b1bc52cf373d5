package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// rows is a store whose items have their marks themselves.
type rows struct{ store }

// update is an item's UPDATE, if its value is not one that excludes it.
func (s rows) update(ctx context.Context, c fence.Claim, key, value, but string) (int64, error) {
	look := "SELECT token FROM items WHERE k = ?"
	if s.Dialect != fencesql.SQLite {
		look += " FOR UPDATE"
	}
	return s.Store.Update(ctx, c,
		fencesql.Statement{Text: in(s.Dialect, look), Args: []any{key}},
		fencesql.Statement{
			Text: in(s.Dialect, "UPDATE items SET v = ?, token = ? WHERE k = ? AND token <= ? AND v <> ?"),
			Args: []any{value, int64(c.Token), key, int64(c.Token), but},
		})
}

func (s rows) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, err := s.update(ctx, c, key, value, "never")
	return err
}

// Read takes a row without a value, as all are at first, for none.
func (s rows) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	value, _, err = s.store.Read(ctx, c, key)
	return value, value != "", err
}

// lawsOfRows are those that are about one row and one mode, without deletes and sequences.
var lawsOfRows = []string{
	"StaleWriteRefused", "CheckAndWriteAreOneStep", "NewerTokenReplaces", "ProcessesShareTheStep",
	"MissingTokenRefused", "InvalidTokenRefused", "TokensCompareAsNumbers", "LargestTokenAdmitted", "AheadRefused", "RefusalNamesBothTokens",
}

func testUpdateLaws(t *testing.T, s fencetest.Subject) {
	s = rowsOnly(s)
	for _, name := range lawsOfRows {
		t.Run(name, func(t *testing.T) {
			law := lawOf(t, name)
			if err := law.Check(t.Context(), s); err != nil {
				t.Errorf("%s\n%v", law.Doc, err)
			}
		})
	}
}

// rowsOnly has rows for stores.
func rowsOnly(s fencetest.Subject) fencetest.Subject {
	with := func(s fencetest.Store, err error) (fencetest.Store, error) {
		if err != nil {
			return nil, err
		}
		of := s.(store)
		for _, key := range []string{"lock-a", "lock-b"} {
			_, there, err := of.read(context.Background(), of.DB, key)
			if err == nil && !there {
				_, err = of.DB.Exec(in(of.Dialect, "INSERT INTO items (k, v) VALUES (?, '')"), key)
			}
			if err != nil {
				return nil, err
			}
		}
		return rows{of}, nil
	}
	s.NoSequence = true
	opened, bounded, second, restarted := s.Open, s.OpenBounded, s.Second, s.Restart
	s.Open = func(ctx context.Context) (fencetest.Store, error) { return with(opened(ctx)) }
	s.OpenBounded = func(ctx context.Context, bound fence.Token) (fencetest.Store, error) {
		return with(bounded(ctx, bound))
	}
	s.Second = func(ctx context.Context, of fencetest.Store) (fencetest.Store, error) {
		return with(second(ctx, of.(rows).store))
	}
	s.Restart = func(ctx context.Context, of fencetest.Store) (fencetest.Store, error) {
		return with(restarted(ctx, of.(rows).store))
	}
	return s
}

// withRow is a store with one item.
func withRow(t *testing.T, s store) rows {
	t.Helper()
	if _, err := s.DB.ExecContext(t.Context(), "INSERT INTO items (k, v) VALUES ('k', 'old')"); err != nil {
		t.Fatal(err)
	}
	return rows{s}
}

// testUpdateFoundRows: MySQL can count the rows that it found, and not those that it changed.
func testUpdateFoundRows(t *testing.T, s store) {
	if s.Dialect != fencesql.MySQL {
		return // only MySQL has the option
	}
	s.database.Source += "?clientFoundRows=true"
	found, err := open(t.Context(), s.database)
	if err != nil {
		t.Fatal(err)
	}
	testUpdate(t, found)
}

// testUpdateNoCommit: where MySQL commits no statement by itself, nobody else would see what Update
// calls done. Do commits.
func testUpdateNoCommit(t *testing.T, of store) {
	if of.Dialect != fencesql.MySQL {
		return // the others always commit
	}
	withRow(t, of)
	of.database.Source += "?autocommit=0"
	without, err := open(t.Context(), of.database)
	if err != nil {
		t.Fatal(err)
	}
	s := rows{without}
	c := fence.Claim{Scope: "/orders/k", Token: 34}
	if err := s.Do(t.Context(), c, nothing); err != nil {
		t.Errorf("a transaction: %v", err)
	}
	_, marked := s.Mark(t.Context(), c.Scope)
	for what, err := range map[string]error{"update": s.Write(t.Context(), c, "k", "lost"), "mark": marked} {
		definite(t, what, err)
		if err != nil && !strings.Contains(err.Error(), "autocommit=1") {
			t.Errorf("%s: %v, want that the sessions do not commit", what, err)
		}
	}
	if v, _, err := of.read(t.Context(), of.DB, "k"); v != "old" {
		t.Errorf("the value is %q, %v, want the old one", v, err)
	}
}

// testUpdate: what an UPDATE that changes nothing means.
func testUpdate(t *testing.T, of store) {
	ctx, s := t.Context(), withRow(t, of)
	c := fence.Claim{Scope: "/orders/k", Token: 34}
	for _, what := range []string{"first", "again, with the same value"} {
		if _, err := s.update(ctx, c, "k", "new", "never"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	c.Token = 33
	n, err := s.update(ctx, c, "k", "stale", "never")
	if stale := (*fence.StaleError)(nil); n != 0 || !errors.As(err, &stale) || *stale != (fence.StaleError{Scope: c.Scope, Token: 33, Mark: 34}) {
		t.Errorf("token 33 after 34: %d rows, %v, want it refused", n, err)
	}
	c.Token = 35
	if n, err := s.update(ctx, c, "k", "excluded", "new"); n != 0 || err != nil {
		t.Errorf("a row that another condition excludes: %d rows, %v, want none and no error", n, err)
	}
	if n, err := s.update(ctx, c, "k", "newer", "never"); n != 1 || err != nil {
		t.Errorf("token 35: %d rows, %v, want one", n, err)
	}
	_, err = s.update(ctx, c, "none", "v", "never")
	if !errors.Is(err, sql.ErrNoRows) || !strings.Contains(err.Error(), "there is no such row") {
		t.Errorf("a row that is not there: %v, want that it is not there", err)
	}
	definite(t, "a row that is not there", err)
	if v, _, err := s.read(ctx, s.DB, "k"); v != "newer" {
		t.Errorf("the value is %q, %v, want newer", v, err)
	}
	testUpdateRefusals(t, s)
}

// testUpdateRefusals: what a mark in one column cannot admit, and marks that are none.
func testUpdateRefusals(t *testing.T, s rows) {
	for want, c := range map[error]fence.Claim{
		fence.ErrInvalidSequence: {Scope: "/orders/k", Token: 36, Sequence: 1},
		fence.ErrInvalidMode:     {Scope: "/orders/k", Token: 36, Mode: fence.Shared},
		fence.ErrNoToken:         {Scope: "/orders/k"},
		fence.ErrInvalidScope:    {Token: 36},
	} {
		if err := s.Write(t.Context(), c, "k", "refused"); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", c, err, want)
		}
	}
	if _, err := s.DB.ExecContext(t.Context(), "UPDATE items SET token = -1"); err != nil {
		t.Fatal(err)
	}
	_, err := s.update(t.Context(), fence.Claim{Scope: "/orders/k", Token: 36}, "k", "excluded", "newer")
	if err == nil || !strings.Contains(err.Error(), "the mark is damaged") {
		t.Errorf("a negative mark: %v, want that it is damaged", err)
	}
	definite(t, "a negative mark", err)
}

// testUpdateOutcome: where the connection breaks nobody knows whether the UPDATE was done, and
// where the database refuses it everybody does.
func testUpdateOutcome(t *testing.T, of store) {
	s := withRow(t, of)
	c := fence.Claim{Scope: "/orders/k", Token: 34}
	nonsense := fencesql.Statement{Text: "UPDATE nothing_like_it SET k = 1"}
	_, err := s.Store.Update(t.Context(), c, nonsense, nonsense)
	definite(t, "no SQL", err)
	if s.Dialect == fencesql.SQLite {
		return // no connection can break
	}
	holdRow(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- s.Write(ctx, c, "k", "late") }()
	awaitWaiter(t, of)
	cancel()
	if err := <-waited; err == nil || fence.OutcomeOf(err) != fence.Unknown {
		t.Errorf("an UPDATE that was given up: %v, outcome %v, want unknown", err, fence.OutcomeOf(err))
	}
}

// holdRow has another transaction lock the item, to the test's end.
func holdRow(t *testing.T, s rows) {
	t.Helper()
	tx, err := s.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	if _, err := tx.Exec("UPDATE items SET v = 'held' WHERE k = 'k'"); err != nil {
		t.Fatal(err)
	}
}

// awaitWaiter returns when somebody waits for a lock. MariaDB's table is a copy, which is made
// anew only if nobody has looked at it for a tenth of a second.
func awaitWaiter(t *testing.T, s store) {
	t.Helper()
	waiters := map[fencesql.Dialect]string{
		fencesql.PostgreSQL: "SELECT COUNT(*) FROM pg_locks WHERE NOT granted",
		fencesql.MySQL:      "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
	}
	ctx, cancel := context.WithTimeout(t.Context(), sqltest.Deadline)
	defer cancel()
	for n := 0; n == 0; time.Sleep(200 * time.Millisecond) {
		if err := s.DB.QueryRowContext(ctx, waiters[s.Dialect]).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}
