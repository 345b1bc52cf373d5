package postgres

import (
	"context"
	"fmt"
	"sync"

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
