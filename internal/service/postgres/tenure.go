package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// tenure is what those of both kinds have.
type tenure struct {
	of   *asking
	done chan struct{}

	mu  sync.Mutex
	err error // why done is closed
}

func newTenure(w *asking) *tenure { return &tenure{of: w, done: make(chan struct{})} }

// end closes done, once.
func (t *tenure) end(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
	default:
		t.err = why
		close(t.done)
	}
}

// Grant implements lock.Tenure, as those below do.
func (t *tenure) Grant() lock.Grant { return t.of.grant() }

func (a *attempt) grant() lock.Grant {
	return lock.Grant{Scope: a.lock, Owner: a.owner, Token: a.token}
}

func (t *tenure) Done() <-chan struct{} { return t.done }

func (t *tenure) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// Name implements service.Tenure, as those below do.
func (t *tenure) Name() string { return t.of.owner }

func (t *tenure) Session() string { return t.of.owner }

func (t *tenure) Shown() (token fence.Token, remark string) { return t.of.token, "" }

// Look is never asked for: no setting names a way of the service's own.
func (t *tenure) Look(_ context.Context, how string) (said string, err error) {
	return "", fmt.Errorf("postgres: there is no look %q", how)
}

// waiting is one that waits for a lock, and then a tenure.
type waiting struct {
	*asking
	*service.Queue
	stands bool                           // it waits for another
	tenure atomic.Pointer[service.Tenure] // nil before the grant
}

// Waits implements service.Waiter.
func (p *waiting) Waits() string {
	return "has asked for " + p.attempt.lock + ", which is another's, and waits"
}

// Name implements service.Place, as those below do.
func (p *waiting) Name() string { return p.owner }

func (p *waiting) Session() string { return p.owner }

func (p *waiting) Grant() lock.Grant {
	if t := p.tenure.Load(); t != nil {
		return (*t).Grant()
	}
	return lock.Grant{Scope: p.attempt.lock, Owner: p.owner}
}

func (p *waiting) Shown() (token fence.Token, remark string) { return p.Grant().Token, "" }

func (p *waiting) Done() <-chan struct{} {
	if t := p.tenure.Load(); t != nil {
		return (*t).Done()
	}
	return nil
}

func (p *waiting) Err() error {
	if t := p.tenure.Load(); t != nil {
		return (*t).Err()
	}
	return nil
}

func (p *waiting) Unlock(ctx context.Context) error {
	if t := p.tenure.Load(); t != nil {
		return (*t).Unlock(ctx)
	}
	return fmt.Errorf("unlock %q: %s waits for it", p.attempt.lock, p.owner)
}

func (p *waiting) Look(ctx context.Context, how string) (said string, err error) {
	return "", fmt.Errorf("postgres: there is no look %q", how)
}
