package fencebolt

import (
	"context"
	"fmt"
	"sync"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Store is a fence.Guard on a database: it runs each operation in a transaction
// of its own, with the check of its claim. So a handler behind
// fencehttp.Middleware finds its transaction in its request's context, by Tx.
//
// The first operation reads all marks, by Verify; where they are not those that were stored,
// no operation runs. A Store must not be copied. It is safe for concurrent use.
type Store struct {
	DB *bbolt.DB
	// Bound returns the highest token that the issuer can have given out for the
	// claim's scope, as that of fence.Register. It is asked outside of any
	// transaction. Nil: no bound is known, and one huge token locks out all others.
	Bound func(fence.Claim) (fence.Token, error)

	once    sync.Once
	turn    chan struct{} // full while an operation of this Store runs
	damaged error         // what Verify said at first
}

var _ fence.Guard = (*Store)(nil)

type txKey struct{}

// Tx is the transaction of the operation that Store.Do runs with ctx. It is nil
// where ctx is of no such operation.
func Tx(ctx context.Context) *bbolt.Tx {
	tx, _ := ctx.Value(txKey{}).(*bbolt.Tx)
	return tx
}

// Do runs op in a transaction, if c is admitted, and commits it. Where op fails,
// its work and the mark are undone. It returns op's error, what Do of this package
// returns, *fence.AheadError, fence.ErrNoBound, or an error of bbolt.
//
// Where ctx is done before the operations of this Store that came before have
// ended, op does not run, and the error wraps that of ctx. A transaction that was
// begun elsewhere is waited for whatever ctx says, and op then does not run
// either. bbolt runs one writing transaction at a time: op must not begin another.
func (s *Store) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	if s.DB == nil {
		return fence.Definite.New("fencebolt: the Store has no DB")
	}
	s.once.Do(func() { s.turn, s.damaged = make(chan struct{}, 1), s.DB.View(Verify) })
	if s.damaged != nil {
		return s.damaged
	}
	if err := s.checkBound(c); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return notRun(ctx, c)
	}
	defer func() { <-s.turn }()
	return s.DB.Update(func(tx *bbolt.Tx) error {
		if ctx.Err() != nil {
			return notRun(ctx, c)
		}
		return Do(tx, c, func() error { return op(context.WithValue(ctx, txKey{}, tx)) })
	})
}

func notRun(ctx context.Context, c fence.Claim) error {
	return fmt.Errorf("fencebolt: the operation in scope %q did not run: %w", c.Scope, ctx.Err())
}

// checkBound asks the issuer about a token above the mark. One that was admitted
// before was issued.
func (s *Store) checkBound(c fence.Claim) error {
	if s.Bound == nil || !c.Token.Valid() {
		return nil
	}
	var m fence.Mark
	err := s.DB.View(func(tx *bbolt.Tx) (err error) {
		m, err = Mark(tx, c.Scope)
		return err
	})
	if err != nil || c.Token <= m.Highest() {
		return err
	}
	return c.CheckBound(s.Bound)
}
