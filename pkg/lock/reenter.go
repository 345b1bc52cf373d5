package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Reenter returns a Backend on b that grants again what it holds already: another
// Lock or TryLock of a scope that is held through it returns at once, with the same
// grant and so the same token. The locks are counted in this process; the last
// Unlock frees the lock in the service, and those before only count down.
//
// The Backend that Reenter returns stands for one holder, and all that use it hold
// its locks together. So each task that has to exclude others needs a Backend of its
// own, on the same b.
//
// Each Lock has a Tenure of its own, which ends with its own Unlock, and is lost for
// all when the lock is lost; the next Lock then asks the service. While one call asks
// the service for a scope, Lock waits for its outcome, and TryLock returns
// ErrLocked. The tenures are neither Expirer nor Extensible: none of the holders
// speaks for all.
func Reenter(b Backend) Backend {
	return &reentrant{backend: b, asking: make(map[string]chan struct{}), held: make(map[string]*counted)}
}

type reentrant struct {
	backend Backend

	mu     sync.Mutex
	asking map[string]chan struct{} // the scopes for which a call asks the service; closed when it has its answer
	held   map[string]*counted      // by scope; the last tenure, be it lost or not
}

// counted is a tenure of the backend, and how many hold it.
type counted struct {
	Tenure
	count int // guarded by reentrant.mu
}

func (r *reentrant) TryLock(ctx context.Context, scope string) (Tenure, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, asking := r.enter(scope)
	switch {
	case t != nil:
		return t, nil
	case asking != nil:
		return nil, fmt.Errorf("lock: trylock %q, for which another call of this process waits: %w", scope, ErrLocked)
	}
	return r.ask(ctx, scope, r.backend.TryLock)
}

func (r *reentrant) Lock(ctx context.Context, scope string) (Tenure, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, asking := r.enter(scope)
		switch {
		case t != nil:
			return t, nil
		case asking == nil:
			return r.ask(ctx, scope, r.backend.Lock)
		}
		select {
		case <-asking:
		case <-ctx.Done():
		}
	}
}

// enter returns another tenure of a scope that is held. Where none is, it returns the
// channel of the call that asks for it; nil: the caller is now the one that asks.
func (r *reentrant) enter(scope string) (Tenure, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.held[scope]; c != nil {
		select {
		case <-c.Done(): // lost
		default:
			return r.join(c), nil
		}
	}
	if asking := r.asking[scope]; asking != nil {
		return nil, asking
	}
	r.asking[scope] = make(chan struct{})
	return nil, nil
}

func (r *reentrant) ask(ctx context.Context, scope string, attempt func(context.Context, string) (Tenure, error)) (Tenure, error) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.asking[scope])
		delete(r.asking, scope)
	}()
	t, err := attempt(ctx, scope)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &counted{Tenure: t}
	r.held[scope] = c
	return r.join(c), nil
}

// join is called with r.mu held.
func (r *reentrant) join(c *counted) Tenure {
	c.count++
	t := &reentered{r: r, counted: c}
	t.life, t.end = context.WithCancelCause(context.Background())
	go func() {
		select {
		case <-c.Done():
			t.end(c.Err())
		case <-t.life.Done():
		}
	}()
	return t
}

// leave counts down, and reports whether nobody holds c any more.
func (r *reentrant) leave(c *counted) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.count--
	if c.count > 0 {
		return false
	}
	if scope := c.Grant().Scope; r.held[scope] == c {
		delete(r.held, scope)
	}
	return true
}

// reentered is what one Lock of a reentrant returns.
type reentered struct {
	r       *reentrant
	counted *counted
	life    context.Context
	end     context.CancelCauseFunc
	left    atomic.Bool
}

func (t *reentered) Grant() Grant          { return t.counted.Grant() }
func (t *reentered) Done() <-chan struct{} { return t.life.Done() }

func (t *reentered) Err() error {
	if cause := context.Cause(t.life); cause != context.Canceled {
		return cause
	}
	return nil
}

func (t *reentered) Unlock(ctx context.Context) error {
	g := t.Grant()
	if t.left.Swap(true) {
		return fmt.Errorf("lock: unlock %q, token %d, which was unlocked before: %w", g.Scope, g.Token, ErrLost)
	}
	before := t.counted.Err()
	t.end(before)
	switch {
	case t.r.leave(t.counted):
		return t.counted.Unlock(ctx)
	case before == nil || errors.Is(before, ErrLost):
		return before
	}
	return &UnknownError{Op: "unlock", Scope: g.Scope, Err: before}
}
