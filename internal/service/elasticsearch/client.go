package elasticsearch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

const Name = "elasticsearch"

func Dial(o service.Options) (service.Client, error) {
	if len(o.Endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want one HOST:PORT", o.Endpoints)
	}
	n, err := at(o.Endpoints[0])
	if err != nil {
		return nil, err
	}
	return &client{*n, o.Settings, service.RecipeOf(recipes, o.Settings)}, nil
}

// client takes its locks by a recipe. A copy of it is the client of one attempt.
type client struct {
	node
	settings setting.Values
	recipe   *recipe
}

var _ service.Store = (*client)(nil)

func (c *client) Reach(ctx context.Context) error { return c.call(ctx, http.MethodGet, "/", nil, nil) }

func (c *client) Close(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// retry is how often a client that waits for a lock asks again.
const retry = 50 * time.Millisecond

func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	a, err := c.asking("lock", scope, in)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, func() {})
}

func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	a, err := c.asking("trylock", scope, in)
	if err != nil {
		return nil, err
	}
	t, err := a.try(ctx)
	if err == lock.ErrLocked {
		err = errors.Join(err, a.leave(ctx))
	}
	return t, err
}

// Inspect is as lock.Inspector says, by package eslock.
func (c *client) Inspect(ctx context.Context, scope string) (lock.State, error) {
	a, err := c.asking("inspect", scope, "")
	if err != nil {
		return lock.State{}, err
	}
	if a.own == nil {
		return lock.State{}, service.NotTold(c.recipe)
	}
	return a.own.Inspect(ctx, scope)
}

// Enqueue asks in the background. It returns when the client waits for the lock, or when
// that has ended.
func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	a, err := c.asking("lock", scope, "")
	if err != nil {
		return nil, err
	}
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(string)) (service.Tenure, error) {
		return a.ask(ctx, func() { stands(a.owner) })
	})
}

func (c *client) asking(op, scope, in string) (*attempt, error) {
	if in != "" {
		return nil, service.NotIn(Name, in)
	}
	by := *c
	a := &attempt{client: &by, op: op, lock: scope, owner: rand.Text()}
	a.attempt = attemptOf(a.owner, scope)
	if c.recipe.own {
		var err error
		a.own, err = eslock.New(a.url.String(), a.settings.Time(setting.TTL),
			eslock.Index(indexOf(a.lock)), eslock.HTTP(a.http), eslock.Owner(func() string { return a.owner }))
		if err != nil {
			return nil, err
		}
	}
	return a, nil
}

// ask asks until the lock is the client's, or ctx is done. It calls stands when the lock is another's.
func (a *attempt) ask(ctx context.Context, stands func()) (service.Tenure, error) {
	late, stop := service.Patient(ctx, func() {})
	defer stop()
	for ctx.Err() == nil {
		t, err := a.try(late)
		if err != lock.ErrLocked {
			return t, err
		}
		stands()
		sleep.For(ctx, retry)
	}
	if err := a.leave(late); err != nil {
		return nil, a.failed(a.op, errors.Join(ctx.Err(), err))
	}
	return nil, fence.Definite.Wrap(ctx.Err())
}

// try asks once. The error is lock.ErrLocked where the lock is another's.
func (a *attempt) try(ctx context.Context) (service.Tenure, error) {
	if a.recipe.own {
		return a.tryOwn(ctx)
	}
	taken, err := a.recipe.take(ctx, a)
	if err != nil {
		return nil, a.failed(a.op, err)
	}
	if !taken {
		return nil, lock.ErrLocked
	}
	service.Stand(ctx, a.owner)
	return &held{service.Owned{Tenure: &tenure{service.NewLife(), a}}, a}, nil
}

// leave does what a client does that has not got the lock.
func (a *attempt) leave(ctx context.Context) error {
	if a.recipe.back != nil {
		if err := a.recipe.back(ctx, a); err != nil {
			return err
		}
	}
	if a.recipe.own || a.settings.Text(setting.Unlock) != unlockAlways {
		return nil // package eslock releases only what it holds
	}
	err := service.UnlockUnheld(ctx, a.lock, func() error {
		mine, err := a.recipe.free(ctx, a)
		switch {
		case err != nil:
			return a.failed("unlock", err)
		case !mine:
			return lock.ErrLocked
		}
		return nil
	})
	if err == lock.ErrLocked {
		return nil
	}
	return err
}

// failed is why a request failed. What Elasticsearch has refused has had no effect; of what it
// did not answer that is not known.
func (a *attempt) failed(op string, err error) error {
	if errors.As(err, new(*refusal)) {
		return fence.Definite.Wrap(fmt.Errorf("%s %q: %w", op, a.lock, err))
	}
	return &lock.UnknownError{Op: op, Scope: a.lock, Err: err}
}

// tenure is one of a client, by a recipe without a lease: only its client ends it.
type tenure struct {
	*service.Life
	of *attempt
}

func (t *tenure) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.lock, Owner: t.of.owner, Mode: t.of.recipe.mode}
}

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	mine, err := t.of.recipe.free(ctx, t.of)
	switch {
	case err != nil:
		return t.of.failed("unlock", err)
	case !mine:
		return lock.ErrLost
	}
	return nil
}

type held struct {
	service.Owned
	of *attempt
}

func (h *held) Look(ctx context.Context, _ string) (said string, err error) {
	a := h.of
	question := "asked Elasticsearch whose " + a.lock + " is"
	d, err := a.document(ctx, a.lock)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	case !d.Found:
		return "", service.NotHeld(question + ": nobody's")
	case !d.Source.names(a.owner):
		return "", service.NotHeld(question + ": another's")
	}
	return question + ": its own", nil
}
