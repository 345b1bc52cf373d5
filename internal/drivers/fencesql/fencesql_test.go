package fencesql_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/sqltest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

// TestEach runs each test on a store of each kind of database.
func TestEach(t *testing.T) {
	for name, database := range sqltest.Databases() {
		t.Run(name, func(t *testing.T) {
			server := database(t)
			for _, test := range []struct {
				name string
				run  func(*testing.T, store)
			}{
				{"create", testCreate},
				{"first use", testFirstUse},
				{"first use in users' transactions", testFirstUseByUsers},
				{"users' transaction", testUsersTransaction},
				{"deadlock", testDeadlock},
				{"serialization", testSerialization},
				{"again", testAgain},
				{"wait", testWait},
				{"too late to commit", testTooLate},
				{"refused statement", testRefusedStatement},
				{"damaged mark", testDamagedMark},
				{"scope", testScope},
				{"observe", testObserve},
				{"observe in users' transactions", testObserveByUsers},
				{"update", testUpdate},
				{"update, found rows", testUpdateFoundRows},
				{"update, no commit", testUpdateNoCommit},
				{"update, outcome", testUpdateOutcome},
				{"killed half done", testKilledHalfDone},
				{"killed at the commit", testKilledAtCommit},
			} {
				t.Run(test.name, func(t *testing.T) {
					s, err := empty(t.Context(), server)
					if err != nil {
						t.Fatal(err)
					}
					test.run(t, s)
				})
			}
		})
	}
}

func nothing(context.Context) error { return nil }

// definite fails a test where an error does not say that nothing was done.
func definite(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("%s: %v, outcome %v, want an error that is definite", what, err, fence.OutcomeOf(err))
	}
}

// many is how many do the same at once.
const many = 8

// atOnce calls f many times at once, and returns the errors.
func atOnce(f func() error) []error {
	errs := make([]error, many)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			<-start
			errs[i] = f()
		})
	}
	close(start)
	all.Wait()
	return errs
}

// testCreate: many make the table at once.
func testCreate(t *testing.T, s store) {
	for range 5 {
		if _, err := s.DB.ExecContext(t.Context(), "DROP TABLE fence_marks"); err != nil {
			t.Fatal(err)
		}
		for _, err := range atOnce(func() error { return s.Create(t.Context()) }) {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// testFirstUse: many are the first of a scope at once, and all are admitted.
func testFirstUse(t *testing.T, s store) {
	for round := range 20 {
		c := fence.Claim{Scope: strings.Repeat("s", round+1), Token: 34}
		for _, err := range atOnce(func() error { return s.Do(t.Context(), c, nothing) }) {
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
	}
}

// testFirstUseByUsers: also in transactions of users, at MySQL's own level, of
// which FOR UPDATE alone would make deadlocks.
func testFirstUseByUsers(t *testing.T, s store) {
	for round := range 20 {
		c := fence.Claim{Scope: strings.Repeat("s", round+1), Token: 34}
		for _, err := range atOnce(func() error { return inTransaction(t.Context(), s, c, func(*sql.Tx) error { return nil }) }) {
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
	}
}

// inTransaction is as users do who have a transaction.
func inTransaction(ctx context.Context, s store, c fence.Claim, op func(*sql.Tx) error) error {
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fencesql.Do(ctx, tx, s.Dialect, c, func() error { return op(tx) }); err != nil {
		return err
	}
	return tx.Commit()
}

// testUsersTransaction: what else the transaction does goes with the fence, and a refusal
// leaves the transaction as it was.
func testUsersTransaction(t *testing.T, s store) {
	ctx := t.Context()
	c := fence.Claim{Scope: "/lock", Token: 34}
	write := func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, put(s.Dialect), "k", "new")
		return err
	}
	if err := inTransaction(ctx, s, c, write); err != nil {
		t.Fatal(err)
	}
	testFailedOperation(t, s)
	tx, err := s.DB.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	c.Token = 33
	err = fencesql.Do(ctx, tx, s.Dialect, c, func() error { t.Error("a stale operation runs"); return nil })
	if !errors.Is(err, fence.ErrStale) {
		t.Errorf("token 33 after 34: %v, want it refused", err)
	}
	if _, err := tx.ExecContext(ctx, put(s.Dialect), "of another lock", "v"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Errorf("the transaction does not commit after a refusal: %v", err)
	}
	if v, ok, err := s.read(ctx, s.DB, "of another lock"); v != "v" || !ok || err != nil {
		t.Errorf("what else it did is %q, %v, %v", v, ok, err)
	}
}

// testFailedOperation: where the user commits all the same, the mark stays, and the sequence
// number may be used again.
func testFailedOperation(t *testing.T, s store) {
	tx, err := s.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	own := errors.New("the payment failed")
	c := fence.Claim{Scope: "/failed", Token: 34, Sequence: 3}
	if err := fencesql.Do(t.Context(), tx, s.Dialect, c, func() error { return own }); err != own {
		t.Errorf("got %v, want the operation's own error", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if m, err := s.Mark(t.Context(), c.Scope); err != nil || m != (fence.Mark{Token: 34}) {
		t.Errorf("the mark is %+v, %v, want token 34 without a sequence", m, err)
	}
}

// testKilledHalfDone: of a transaction that the database's end cuts off nothing remains, and
// what was committed does.
func testKilledHalfDone(t *testing.T, s store) {
	ctx, cancel := context.WithTimeout(t.Context(), sqltest.Deadline)
	defer cancel()
	c := fence.Claim{Scope: "/lock", Token: 33}
	if err := s.Write(ctx, c, "k", "old"); err != nil {
		t.Fatal(err)
	}
	c.Token = 34
	gone := errors.New("the process ends here")
	err := s.Do(ctx, c, func(ctx context.Context) error {
		if err := exec(put(s.Dialect), "k", "new")(ctx); err != nil {
			return err
		}
		return errors.Join(s.database.Kill(), gone)
	})
	if !errors.Is(err, gone) {
		t.Fatal(err)
	}
	if err := s.database.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	after, err := open(ctx, s.database)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := after.Mark(ctx, "/lock"); err != nil || m != (fence.Mark{Token: 33}) {
		t.Errorf("the mark is %+v, %v, want that of token 33", m, err)
	}
	if v, _, err := after.read(ctx, after.DB, "k"); v != "old" {
		t.Errorf("the value is %q, %v, want old", v, err)
	}
}

// testKilledAtCommit: where the server ends while it is asked to commit nobody knows.
func testKilledAtCommit(t *testing.T, s store) {
	if s.Dialect == fencesql.SQLite {
		return // SQLite has no server that ends
	}
	err := s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 34}, func(ctx context.Context) error {
		return s.database.Kill()
	})
	if err == nil || fence.OutcomeOf(err) != fence.Unknown || !strings.Contains(err.Error(), "outcome unknown") {
		t.Errorf("got %v, outcome %v, want unknown", err, fence.OutcomeOf(err))
	}
	definite(t, "a server that is gone", s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 34}, nothing))
}

// testDeadlock: the database ends one of two transactions that wait for one another. That
// one is definite and to be made again, and no operation runs twice.
func testDeadlock(t *testing.T, s store) {
	if s.Dialect == fencesql.SQLite {
		return // in SQLite one writer waits for the other from the start
	}
	for _, key := range []string{"a", "b"} {
		if err := s.Write(t.Context(), fence.Claim{Scope: key, Token: 1}, key, "v"); err != nil {
			t.Fatal(err)
		}
	}
	var both, ended sync.WaitGroup
	both.Add(2)
	ran, errs := make([]int, 2), make([]error, 2)
	for i, keys := range [][]string{{"a", "b"}, {"b", "a"}} {
		ended.Go(func() {
			errs[i] = s.Do(t.Context(), fence.Claim{Scope: keys[0], Token: 2}, func(ctx context.Context) error {
				ran[i]++
				err := exec(put(s.Dialect), keys[0], "first")(ctx)
				both.Done()
				both.Wait()
				return errors.Join(err, exec(put(s.Dialect), keys[1], "second")(ctx))
			})
		})
	}
	ended.Wait()
	victim := 0
	if errs[0] == nil {
		victim = 1
	}
	if errs[1-victim] != nil || !fencesql.Again(errs[victim]) {
		t.Errorf("got %v, want one to succeed, and one to be made again", errs)
	}
	definite(t, "the other", errs[victim])
	if ran[0] != 1 || ran[1] != 1 {
		t.Errorf("the operations ran %d times, want once each", ran)
	}
}

// testSerialization: PostgreSQL refuses a commit that fits no order. It is definite, and to
// be made again.
func testSerialization(t *testing.T, s store) {
	if s.Dialect != fencesql.PostgreSQL {
		return // the others wait, and do not refuse a commit
	}
	s.Options = &sql.TxOptions{Isolation: sql.LevelSerializable}
	sum := "SELECT COUNT(*) FROM items"
	err := s.Do(t.Context(), fence.Claim{Scope: "/one", Token: 1}, func(ctx context.Context) error {
		var n int
		if err := fencesql.Tx(ctx).QueryRowContext(ctx, sum).Scan(&n); err != nil {
			return err
		}
		if err := exec(put(s.Dialect), "one", "v")(ctx); err != nil {
			return err
		}
		return s.Do(t.Context(), fence.Claim{Scope: "/two", Token: 1}, func(ctx context.Context) error {
			return errors.Join(fencesql.Tx(ctx).QueryRowContext(ctx, sum).Scan(&n), exec(put(s.Dialect), "two", "v")(ctx))
		})
	})
	if !fencesql.Again(err) || !strings.Contains(err.Error(), "commit") {
		t.Errorf("got %v, want a commit that is to be made again", err)
	}
	definite(t, "the commit", err)
}

// testAgain: a transaction that fits no order before its operation has run is made again. The
// operation runs once.
func testAgain(t *testing.T, s store) {
	if s.Dialect != fencesql.PostgreSQL {
		return // the others wait, and go on
	}
	s.Options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	held, release := make(chan struct{}), make(chan struct{})
	errs := make(chan error, 2)
	if err := s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 1}, nothing); err != nil {
		t.Fatal(err)
	}
	go func() {
		errs <- s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 2}, func(context.Context) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	ran := 0
	go func() {
		errs <- s.Do(t.Context(), fence.Claim{Scope: "/lock", Token: 3}, func(context.Context) error { ran++; return nil })
	}()
	awaitWaiter(t, s)
	close(release)
	if err := errors.Join(<-errs, <-errs); err != nil || ran != 1 {
		t.Errorf("got %v, and the operation ran %d times, want once", err, ran)
	}
}

// testTooLate: where ctx has ended before the commit nothing is committed.
func testTooLate(t *testing.T, s store) {
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Do(ctx, fence.Claim{Scope: "/lock", Token: 34}, func(context.Context) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that of the context", err)
	}
	definite(t, "too late", err)
	if m, err := s.Mark(t.Context(), "/lock"); err != nil || m != (fence.Mark{}) {
		t.Errorf("the mark is %+v, %v, want none", m, err)
	}
}

// testWait: who waits for the scope no longer than a context lasts does nothing.
func testWait(t *testing.T, s store) {
	c := fence.Claim{Scope: "/lock", Token: 34}
	held, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- s.Do(t.Context(), c, func(context.Context) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		waited <- s.Do(ctx, c, func(context.Context) error { t.Error("it runs beside the other"); return nil })
	}()
	cancel()
	definite(t, "the one that waited", <-waited)
	close(release)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// testRefusedStatement: an operation whose statement the database refuses is undone, and said
// to be; one that fails for reasons of its own has its own error.
func testRefusedStatement(t *testing.T, s store) {
	c := fence.Claim{Scope: "/lock", Token: 34, Sequence: 3}
	definite(t, "no SQL", s.Do(t.Context(), c, exec("UPDATE nothing_like_it SET k = 1")))
	own := errors.New("the payment failed")
	if err := s.Do(t.Context(), c, func(context.Context) error { return own }); err != own {
		t.Errorf("got %v, want the operation's own error", err)
	}
	if m, err := s.Mark(t.Context(), "/lock"); err != nil || m != (fence.Mark{}) {
		t.Errorf("the mark is %+v, %v, want none", m, err)
	}
}

// testDamagedMark: nothing is done under a mark that fencesql cannot have written.
func testDamagedMark(t *testing.T, s store) {
	c := fence.Claim{Scope: "/lock", Token: 34}
	if err := s.Do(t.Context(), c, nothing); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"token = -1", "token = 1, shared = 1", "shared = -1", "sequence = -1"} {
		if _, err := s.DB.ExecContext(t.Context(), "UPDATE fence_marks SET token = 1, sequence = 0, shared = 0"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.DB.ExecContext(t.Context(), "UPDATE fence_marks SET "+set); err != nil {
			t.Fatal(err)
		}
		err := s.Do(t.Context(), c, func(context.Context) error { t.Error("it runs"); return nil })
		if err == nil || !strings.Contains(err.Error(), "the mark is damaged") {
			t.Errorf("%s: got %v, want that the mark is damaged", set, err)
		}
		definite(t, set, err)
	}
}

// inTx is a Guard in a transaction of its user's.
type inTx struct {
	*sql.Tx
	dialect fencesql.Dialect
}

func (g inTx) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	return fencesql.Do(ctx, g.Tx, g.dialect, c, func() error { return op(ctx) })
}

// testObserveByUsers: what would be refused runs in a transaction of the user's, which is
// committed, and the mark stays.
func testObserveByUsers(t *testing.T, s store) {
	for _, token := range []fence.Token{34, 33, 0} {
		tx, err := s.DB.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		var seen []error
		g := fence.Observe(inTx{tx, s.Dialect}, func(_ context.Context, _ fence.Claim, refused error) { seen = append(seen, refused) })
		err = g.Do(t.Context(), fence.Claim{Scope: "a", Token: token}, func(ctx context.Context) error {
			_, err := tx.ExecContext(ctx, put(s.Dialect), "k", token.String())
			return err
		})
		if err != nil || len(seen) != 1 || (seen[0] == nil) != (token == 34) {
			t.Errorf("token %d: %v, reported %v", token, err, seen)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if got, _, err := s.read(t.Context(), s.DB, "k"); got != token.String() || err != nil {
			t.Errorf("token %d: k is %q, %v", token, got, err)
		}
	}
	if m, err := s.Mark(t.Context(), "a"); err != nil || m != (fence.Mark{Token: 34}) {
		t.Errorf("mark %+v, %v", m, err)
	}
}

// testObserve: what would be refused runs in a transaction of the store, and the mark stays.
func testObserve(t *testing.T, s store) {
	if err := s.Write(t.Context(), fence.Claim{Scope: "a", Token: 34}, "k", "new"); err != nil {
		t.Fatal(err)
	}
	var seen []error
	g := fence.Observe(s, func(_ context.Context, _ fence.Claim, refused error) { seen = append(seen, refused) })
	for token, want := range map[fence.Token]error{0: fence.ErrNoToken, 33: fence.ErrStale} {
		seen = nil
		if err := g.Do(t.Context(), fence.Claim{Scope: "a", Token: token}, exec(put(s.Dialect), "k", token.String())); err != nil {
			t.Errorf("token %d: %v", token, err)
		}
		got, _, err := s.read(t.Context(), s.DB, "k")
		if got != token.String() || err != nil || len(seen) != 1 || !errors.Is(seen[0], want) {
			t.Errorf("token %d: k is %q, %v; reported %v, want %v", token, got, err, seen, want)
		}
	}
	if m, err := s.Mark(t.Context(), "a"); err != nil || m != (fence.Mark{Token: 34}) {
		t.Errorf("mark %+v, %v", m, err)
	}
}

// testScope: of 1 to MaxScope bytes, whichever these are.
func testScope(t *testing.T, s store) {
	for _, scope := range []string{strings.Repeat("\xff", fencesql.MaxScope), "\x00", "\x00\x00", "a", "a ", "A"} {
		if err := s.Do(t.Context(), fence.Claim{Scope: scope, Token: math.MaxInt64}, nothing); err != nil {
			t.Errorf("%.9q: %v", scope, err)
		}
		if m, err := s.Mark(t.Context(), scope); err != nil || m.Token != math.MaxInt64 {
			t.Errorf("%.9q: the mark is %+v, %v", scope, m, err)
		}
	}
	var n int
	if err := s.DB.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM fence_marks").Scan(&n); err != nil || n != 6 {
		t.Errorf("%d marks, %v, want 6", n, err)
	}
	for _, scope := range []string{"", strings.Repeat("s", fencesql.MaxScope+1)} {
		if err := s.Do(t.Context(), fence.Claim{Scope: scope, Token: 1}, nothing); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("a scope of %d bytes: %v, want it refused", len(scope), err)
		}
		if _, err := s.Mark(t.Context(), scope); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("the mark of a scope of %d bytes: %v, want it refused", len(scope), err)
		}
	}
}
