package fencesql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Store is a fence.Guard on a database: it runs each operation in a transaction of its own,
// with the check of its claim. So a handler behind fencehttp.Middleware finds its transaction
// in its request's context, by Tx. Any number of them may stand before one database. It is
// safe for concurrent use.
type Store struct {
	DB      *sql.DB
	Dialect Dialect
	// Options are those of the transactions. Nil: the database's own.
	Options *sql.TxOptions
	// Bound returns the highest token that the issuer can have given out for the
	// claim's scope, as that of fence.Register. It is asked outside of any
	// transaction. Nil: no bound is known, and one huge token locks out all others.
	Bound func(fence.Claim) (fence.Token, error)

	commits atomic.Bool // the sessions of MySQL commit each statement
}

var _ fence.Guard = (*Store)(nil)

// Create makes the table of marks, fence_marks, where it is not there. Any number of
// processes may do so at once. In PostgreSQL the table is in the first schema of search_path,
// in which Create needs the right CREATE, even where the table is there: without this right,
// make the table by Dialect.Schema. All else needs SELECT, INSERT and UPDATE.
func (s *Store) Create(ctx context.Context) error {
	if s.DB == nil {
		return errNoDB
	}
	statements, err := s.Dialect.statements()
	if err != nil {
		return err
	}
	// In PostgreSQL, one of two that make it at once can fail, once the other is done.
	if _, err = s.DB.ExecContext(ctx, statements.create); err != nil {
		_, err = s.DB.ExecContext(ctx, statements.create)
	}
	if err != nil {
		return fmt.Errorf("fencesql: make the table of marks: %w", err)
	}
	return nil
}

var errNoDB = fence.Definite.New("fencesql: the Store has no DB")

type txKey struct{}

// Tx is the transaction of the operation that Store.Do runs with ctx. It is nil where ctx is
// of no such operation.
func Tx(ctx context.Context) *sql.Tx {
	tx, _ := ctx.Value(txKey{}).(*sql.Tx)
	return tx
}

// tries is how often a transaction is made whose operation has not run.
const tries = 3

// Do runs op in a transaction, if c is admitted by the mark of its scope, raises the mark,
// and commits. With a refusal, as Mark.Admit of package fence has them, or with
// fence.ErrDuplicate, op did not run. A token beyond the bound is refused with a
// *fence.AheadError; where Bound returns an error, Do returns fence.ErrNoBound. A token that
// was admitted before was issued, whatever Bound says.
//
// Where op fails, its work and the mark are undone, and Do returns its error. An error by
// which the database refused a statement of op is Definite then.
//
// Every other error wraps that of the database or of the connection, and fence.OutcomeOf says
// what is known: Definite where nothing was committed, Unknown where the connection broke, or
// ctx ended, while the database was asked to commit.
//
// Do makes a transaction again that failed as Again says, if op did not run yet. It does not
// run op twice: where Again says so of the error, it is the caller who can.
func (s *Store) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	if err := check(c); err != nil {
		return err
	}
	if s.DB == nil {
		return errNoDB
	}
	mark := func() (fence.Mark, error) { return s.Mark(ctx, c.Scope) }
	if err := s.checkBound(c, mark); err != nil {
		return err
	}
	ran := false
	return s.transact(ctx, about(c), &ran, func(tx *sql.Tx) error {
		return Do(ctx, tx, s.Dialect, c, func() error {
			ran = true
			return op(context.WithValue(ctx, txKey{}, tx))
		})
	})
}

// transact commits what do does. It makes a transaction again that failed before it ran what
// must not run twice.
func (s *Store) transact(ctx context.Context, what string, ran *bool, do func(*sql.Tx) error) error {
	for n := 1; ; n++ {
		err := s.try(ctx, what, do)
		if *ran || n == tries || !Again(err) || ctx.Err() != nil {
			return err
		}
	}
}

func (s *Store) try(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := s.DB.BeginTx(ctx, s.Options)
	if err != nil {
		return undone(what, err)
	}
	defer tx.Rollback() // after a commit it does nothing
	if err := do(tx); err != nil {
		if says := (interface{ Outcome() fence.Outcome })(nil); errors.As(err, &says) || codeOf(err) == (code{}) {
			return err
		}
		return undone(what, err)
	}
	if err := ctx.Err(); err != nil {
		return undone(what, err)
	}
	if err := tx.Commit(); err != nil {
		return judged(what+", commit", err)
	}
	return nil
}

// checkBound refuses a token that the issuer cannot have given out. One that was admitted
// before was issued.
func (s *Store) checkBound(c fence.Claim, mark func() (fence.Mark, error)) error {
	if s.Bound == nil {
		return nil
	}
	refused := c.CheckBound(s.Bound)
	if refused == nil {
		return nil
	}
	if m, err := mark(); err == nil && c.Token <= m.Highest() {
		return nil
	}
	return refused
}

// checkAutocommit refuses statements outside of a transaction, which is Definite, where MySQL
// does not end them: what they write nobody else sees, and what they read becomes old. It asks
// until one session has said that it commits.
func (s *Store) checkAutocommit(ctx context.Context) error {
	if s.DB == nil {
		return errNoDB
	}
	if s.Dialect != MySQL || s.commits.Load() {
		return nil
	}
	var on bool
	if err := s.DB.QueryRowContext(ctx, "SELECT @@autocommit").Scan(&on); err != nil {
		return fence.Definite.Wrap(fmt.Errorf("fencesql: whether the database commits each statement: %w", err))
	}
	if !on {
		return errNoCommit
	}
	s.commits.Store(true)
	return nil
}

var errNoCommit = fence.Definite.New("fencesql: the sessions of the database do not commit (autocommit=0), so that nobody else would see the mark: open the database with autocommit=1")

// Mark returns the mark of a scope: the highest that was admitted in each mode. It is zero
// where there is none.
func (s *Store) Mark(ctx context.Context, scope string) (fence.Mark, error) {
	if err := checkScope(scope); err != nil {
		return fence.Mark{}, err
	}
	statements, err := s.Dialect.statements()
	if err != nil {
		return fence.Mark{}, err
	}
	if err := s.checkAutocommit(ctx); err != nil {
		return fence.Mark{}, err
	}
	m, err := scan(s.DB.QueryRowContext(ctx, statements.look, []byte(scope)))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return m, fmt.Errorf("fencesql: mark of %q: %w", scope, err)
	}
	return m, nil
}
