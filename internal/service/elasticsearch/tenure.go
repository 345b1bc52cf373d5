package elasticsearch

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// tenure is one of a client, by a recipe.
type tenure struct {
	*service.Life
	of   *asking
	kept chan struct{} // closed when nobody renews the lease any more
}

// begin begins the tenure of a client that has taken the lock, and asked for it at a time.
func begin(w *asking, asked time.Time) *tenure {
	t := &tenure{Life: service.NewLife(), of: w, kept: make(chan struct{})}
	go t.keep(asked)
	return t
}

// keep renews the lease, which began at a time, until the tenure is over, and ends the tenure
// when its lease is over by the client's clock.
func (t *tenure) keep(began time.Time) {
	defer close(t.kept)
	if t.of.recipe.renew == nil {
		return
	}
	for ttl := t.of.ttl; ; {
		until := began.Add(ttl)
		select {
		case <-time.After(min(ttl/3, time.Until(until))):
		case <-t.Done():
			return
		}
		asked := time.Now()
		if !asked.Before(until) {
			t.End(lock.ErrCutOff)
			return
		}
		ctx, cancel := context.WithDeadline(t.Context(), until)
		mine, err := t.of.recipe.renew(ctx, t.of.attempt)
		cancel()
		switch {
		case err != nil: // the next time, or never
		case !mine:
			t.End(lock.ErrLost)
		default:
			began = asked
		}
	}
}

// Grant implements lock.Tenure, as those below do.
func (t *tenure) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.lock, Owner: t.of.owner, Token: t.of.token}
}

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	<-t.kept
	mine, err := t.of.recipe.free(ctx, t.of.attempt)
	switch {
	case err != nil:
		return t.of.failed("unlock", err)
	case !mine:
		return lock.ErrLost
	}
	return nil
}

// Name implements service.Tenure, as those below do.
func (t *tenure) Name() string { return t.of.owner }

func (t *tenure) Session() string { return t.of.owner }

func (t *tenure) Shown() (token fence.Token, remark string) { return t.of.token, "" }

// Look asks Elasticsearch whose the lock is.
func (t *tenure) Look(ctx context.Context, _ string) (said string, err error) {
	question := "asked Elasticsearch whose " + t.of.lock + " is"
	d, err := t.of.get(ctx, t.of.lock)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case !d.Found:
		return "", service.NotHeld(question + ": nobody's")
	case t.of.owner != d.Source.Owner && t.of.owner != d.Source.ProcessID:
		return "", service.NotHeld(question + ": another's")
	}
	return question + ": its own", nil
}
