package etcdlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// TestTTLsOfOneService: the TTL is the backend's, and backends with different ones exclude
// each other.
func TestTTLsOfOneService(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.join(t, long)
	b, err := etcdlock.New(a.client, 2*long)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]lock.Backend{{a, b}, {b, a}} {
		tenure, err := pair[0].Lock(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pair[1].TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("while the lock is held, TryLock with another TTL returned %v", err)
		}
		if err := tenure.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestPermits: many who want one of two slots of a real service all get one, two at a time.
func TestPermits(t *testing.T) {
	t.Parallel()
	const n, crowd, rounds = 2, 5, 10
	s := newService(t)
	var mu sync.Mutex
	held := make(map[string]bool)
	var marks fence.Register
	var group sync.WaitGroup
	for range crowd {
		b := lock.Permits(s.join(t, long), n)
		group.Go(func() {
			for range rounds {
				err := lock.Do(t.Context(), b, scope, func(ctx context.Context, g lock.Grant) error {
					mu.Lock()
					if held[g.Scope] || len(held) == n {
						t.Errorf("%s is granted while %v are held", g.Scope, held)
					}
					held[g.Scope] = true
					mu.Unlock()
					defer func() {
						mu.Lock()
						defer mu.Unlock()
						delete(held, g.Scope)
					}()
					return marks.Do(ctx, g.Claim(), func(context.Context) error { return nil })
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if first, second := marks.Mark(scope+"/1"), marks.Mark(scope+"/2"); first.Token == 0 || second.Token == 0 {
		t.Errorf("the slots' marks are %+v and %+v: one was never used", first, second)
	}
}

// TestLeadOutlivesAnOutage: the service goes away for longer than the TTL, and the leader
// leads again when it is back, with a higher token.
func TestLeadOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := newService(t)
	p := s.join(t, ttl)
	leads := make(chan lock.Grant)
	lost := make(chan error)
	result := make(chan error, 1)
	go func() {
		terms := 0
		result <- lock.Lead(t.Context(), p, scope, func(ctx context.Context, g lock.Grant) error {
			leads <- g
			if terms++; terms == 2 {
				return nil
			}
			<-ctx.Done()
			lost <- context.Cause(ctx)
			return ctx.Err()
		})
	}()
	first := <-leads
	s.Close()
	if err := <-lost; !errors.Is(err, lock.ErrCutOff) {
		t.Errorf("the first term ended with %v, want ErrCutOff", err)
	}
	if err := s.restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second := <-leads; second.Token <= first.Token {
		t.Errorf("the terms have the tokens %d and %d", first.Token, second.Token)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}
