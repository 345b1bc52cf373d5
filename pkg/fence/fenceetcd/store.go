package fenceetcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Store is a KV whose issuer of tokens is known. Do alone admits every token that
// is valid, and one huge token then locks out all others.
type Store struct {
	KV clientv3.KV
	// Bound returns the highest token that the issuer can have given out for the
	// claim's scope, as that of fence.Register. Nil: no bound is known.
	Bound func(fence.Claim) (fence.Token, error)
}

// Do is Do of this package, and refuses a token beyond the bound with a
// *fence.AheadError. Where Bound returns an error, it returns fence.ErrNoBound. A
// token that was admitted before was issued, whatever Bound says.
func (s Store) Do(ctx context.Context, c fence.Claim, ops ...clientv3.Op) (*clientv3.TxnResponse, error) {
	if s.KV == nil {
		return nil, fence.Definite.New("fenceetcd: the Store has no KV")
	}
	if err := s.checkBound(ctx, c); err != nil {
		return nil, err
	}
	return Do(ctx, s.KV, c, ops...)
}

func (s Store) checkBound(ctx context.Context, c fence.Claim) error {
	if s.Bound == nil || check(c) != nil {
		return nil
	}
	refused := c.CheckBound(s.Bound)
	if refused == nil {
		return nil
	}
	if m, err := Mark(ctx, s.KV, c.Scope); err == nil && c.Token <= m.Highest() {
		return nil
	}
	return refused
}
