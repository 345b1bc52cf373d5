package elasticsearch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

// Name is what scenarios call the service.
const Name = "elasticsearch"

// Dial makes a client.
func Dial(o service.Options) (service.Client, error) {
	if len(o.Endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want one HOST:PORT", o.Endpoints)
	}
	n, err := at(o.Endpoints[0])
	if err != nil {
		return nil, err
	}
	return &client{n.url, n.http, o.Settings, service.RecipeOf(recipes, o.Settings)}, nil
}

// client takes its locks by a recipe.
type client struct {
	url      *url.URL
	http     *http.Client
	settings setting.Values
	recipe   *recipe
}

var _ service.Store = (*client)(nil)

// newNodeOf is the node as a client reaches it.
func newNodeOf(c *client) *node { return &node{url: c.url, http: c.http} }

// Reach implements service.Client, as those below do.
func (c *client) Reach(ctx context.Context) error {
	return newNodeOf(c).call(ctx, http.MethodGet, "/", nil, nil)
}

func (c *client) Close(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// retry is how often a client that waits for a lock asks again.
const retry = 50 * time.Millisecond

// Lock asks until the lock is the client's.
func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("lock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.ask(ctx, func() {})
}

// TryLock asks once.
func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("trylock", scope, in)
	if err != nil {
		return nil, err
	}
	t, err := w.try(ctx)
	if err == lock.ErrLocked {
		err = errors.Join(err, w.leave(ctx))
	}
	return t, err
}

// Enqueue asks in the background. It returns when the client waits for the lock, or when
// that has ended.
func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	w, err := c.asking("lock", scope, "")
	if err != nil {
		return nil, err
	}
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(string)) (service.Tenure, error) {
		return w.ask(ctx, func() { stands(w.owner) })
	})
}

// asking is a client that asks for a lock, perhaps more than once.
type asking struct {
	*client
	*attempt
	op  string
	own *eslock.Backend // of a recipe that is package eslock
}

func (c *client) asking(op, scope, in string) (*asking, error) {
	if in != "" {
		return nil, service.NotIn(Name, in)
	}
	owner := rand.Text()
	a := &attempt{node: newNodeOf(c), lock: scope, owner: owner, settings: c.settings}
	a.attempt = attemptOf(owner, scope)
	w := &asking{client: c, attempt: a, op: op}
	if c.recipe.own {
		var err error
		if w.own, err = a.backend(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// ask asks until the lock is the client's, or ctx is done. It calls stands when the lock is
// another's.
func (w *asking) ask(ctx context.Context, stands func()) (service.Tenure, error) {
	late, stop := service.Patient(ctx, func() {})
	defer stop()
	for ctx.Err() == nil {
		t, err := w.try(late)
		if err != lock.ErrLocked {
			return t, err
		}
		stands()
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
	if err := w.leave(late); err != nil {
		return nil, w.failed(w.op, errors.Join(ctx.Err(), err))
	}
	return nil, fence.Definite.Wrap(ctx.Err())
}

// try asks once. The error is lock.ErrLocked where the lock is another's.
func (w *asking) try(ctx context.Context) (service.Tenure, error) {
	if w.recipe.own {
		return w.tryOwn(ctx)
	}
	taken, err := w.recipe.take(ctx, w.attempt)
	if err != nil {
		return nil, w.failed(w.op, err)
	}
	if !taken {
		return nil, lock.ErrLocked
	}
	service.Stand(ctx, w.owner)
	return &held{service.Granted{Tenure: &tenure{service.NewLife(), w}}, w}, nil
}

// leave does what a client does that has not got the lock.
func (w *asking) leave(ctx context.Context) error {
	if w.recipe.back != nil {
		if err := w.recipe.back(ctx, w.attempt); err != nil {
			return err
		}
	}
	if w.recipe.own || w.client.settings.Text(settingUnlock) != unlockAlways {
		return nil // package eslock releases only what it holds
	}
	_, err := w.recipe.free(ctx, w.attempt)
	return err
}

// failed is why a request failed. What Elasticsearch has refused has had no effect; of what it
// did not answer that is not known.
func (w *asking) failed(op string, err error) error {
	if errors.As(err, new(*refusal)) {
		return fence.Definite.Wrap(fmt.Errorf("%s %q: %w", op, w.lock, err))
	}
	return &lock.UnknownError{Op: op, Scope: w.lock, Err: err}
}

// tenure is one of a client, by a recipe without a lease: only its client ends it.
type tenure struct {
	*service.Life
	of *asking
}

// Grant implements lock.Tenure, as the one below does.
func (t *tenure) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.lock, Owner: t.of.owner, Mode: t.of.recipe.mode}
}

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	mine, err := t.of.recipe.free(ctx, t.of.attempt)
	switch {
	case err != nil:
		return t.of.failed("unlock", err)
	case !mine:
		return lock.ErrLost
	}
	return nil
}

// held is a tenure of any recipe.
type held struct {
	service.Granted
	of *asking
}

// Look asks Elasticsearch whose the lock is.
func (h *held) Look(ctx context.Context, _ string) (said string, err error) {
	w := h.of
	question := "asked Elasticsearch whose " + w.lock + " is"
	d, err := w.get(ctx, w.lock)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case !d.Found:
		return "", service.NotHeld(question + ": nobody's")
	case !d.Source.names(w.owner):
		return "", service.NotHeld(question + ": another's")
	}
	return question + ": its own", nil
}
