package fencebolt_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

func nothing(context.Context) error { return nil }

// guarded is the smallest store on a Store.
type guarded struct {
	*store
	guard *fencebolt.Store
}

func openGuarded(t *testing.T, bound func(fence.Claim) (fence.Token, error)) *guarded {
	s := open(t, filepath.Join(t.TempDir(), "db"))
	return &guarded{s, &fencebolt.Store{DB: s.db, Bound: bound}}
}

func (s *guarded) update(ctx context.Context, c fence.Claim, op func(*bbolt.Bucket) error) error {
	return s.guard.Do(ctx, c, func(ctx context.Context) error {
		b, err := fencebolt.Tx(ctx).CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		return op(b)
	})
}

func (s *guarded) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.update(ctx, c, func(b *bbolt.Bucket) error { return b.Put([]byte(key), []byte(value)) })
}

func (s *guarded) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.update(ctx, c, func(b *bbolt.Bucket) error { return b.Delete([]byte(key)) })
}

func (s *guarded) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	if c.Token == 0 {
		return s.store.Read(ctx, c, key)
	}
	err = s.update(ctx, c, func(b *bbolt.Bucket) error {
		v := b.Get([]byte(key))
		value, ok = string(v), v != nil
		return nil
	})
	return value, ok, err
}

func TestStoreKnowsTheBound(t *testing.T) {
	away := errors.New("the issuer does not answer")
	bound, fail := fence.Token(40), error(nil)
	s := openGuarded(t, func(fence.Claim) (fence.Token, error) { return bound, fail })
	do := func(token fence.Token) error {
		return s.guard.Do(t.Context(), fence.Claim{Scope: "a", Token: token}, nothing)
	}
	if err := do(math.MaxInt64); !errors.Is(err, fence.ErrAhead) {
		t.Errorf("got %v, want ErrAhead", err)
	}
	if err := do(40); err != nil {
		t.Errorf("the bound itself: %v", err)
	}
	if err := s.guard.Do(t.Context(), fence.Claim{Scope: "readers", Token: 40, Mode: fence.Shared}, nothing); err != nil {
		t.Errorf("a shared claim: %v", err)
	}
	fail = away
	if err := s.guard.Do(t.Context(), fence.Claim{Scope: "readers", Token: 39, Mode: fence.Shared}, nothing); err != nil {
		t.Errorf("a shared tenure below one that is known: %v", err)
	}
	if err := do(40); err != nil {
		t.Errorf("a tenure that is known: %v", err)
	}
	if err := do(41); !errors.Is(err, fence.ErrNoBound) || !errors.Is(err, away) {
		t.Errorf("got %v, want ErrNoBound with the issuer's error", err)
	}
	if err := do(0); !errors.Is(err, fence.ErrNoToken) {
		t.Errorf("got %v, want ErrNoToken", err)
	}
}

func TestStoreWaitsNoLongerThanTheContext(t *testing.T) {
	s := openGuarded(t, nil)
	c := fence.Claim{Scope: "a", Token: 1}
	runs, end := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.guard.Do(t.Context(), c, func(context.Context) error { close(runs); <-end; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-runs
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := func(context.Context) error { t.Error("ran for one who gave up"); return nil }
	if err := s.guard.Do(ctx, c, ran); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context is cancelled", err)
	}
	close(end)
	wg.Wait()
	for range 20 {
		if err := s.guard.Do(ctx, c, ran); !errors.Is(err, context.Canceled) {
			t.Errorf("though nobody else is there: got %v", err)
		}
	}
	if fencebolt.Tx(ctx) != nil {
		t.Error("a context of no operation has a transaction")
	}
}
