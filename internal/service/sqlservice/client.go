package sqlservice

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Client takes its locks by a recipe. It has a connection for each thing that it does, and
// one for each lock that a connection has.
type Client struct {
	Database Database
	Settings setting.Values
	Recipe   *Recipe

	mu      sync.Mutex       // of pools
	pools   map[string]*pool // one for each lock, as each lock may be in another database
	tenures sync.Map         // name → *readTenure, or *heldTenure where the requests are within its transaction
}

func (c *Client) Reach(ctx context.Context) error {
	conn, err := c.Database.Connect(ctx, "")
	if err == nil {
		conn.HangUp()
	}
	return err
}

func (c *Client) Close(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		_ = p.db.Close()
	}
	return nil
}

func (c *Client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return c.take(ctx, "lock", scope, in, nil)
}

func (c *Client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	return c.take(ctx, opTry, scope, in, nil)
}

// Enqueue asks in the background. It returns when the client waits for the lock, or when
// that has ended.
func (c *Client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(owner string)) (service.Tenure, error) {
		return c.take(ctx, "lock", scope, "", stands)
	})
}

const opTry = "trylock"

// take takes a lock by the recipe. It calls stands, unless that is nil, with the name of the
// tenure to be when the client waits for another.
func (c *Client) take(ctx context.Context, op, scope, in string, stands func(owner string)) (service.Tenure, error) {
	if in != "" {
		return nil, service.NotIn(c.Database.Name(), in)
	}
	w := &asking{c, Attempt{Lock: scope, Owner: rand.Text(), Settings: c.Settings}, op}
	by := w.ask
	switch {
	case c.Recipe.Dialect != "":
		by = w.lockOwn
	case c.Recipe.Hold != nil:
		by = w.hold
	case c.Recipe.Same != nil:
		by = w.read
	}
	t, err := by(ctx, stands)
	if err != nil {
		return nil, err
	}
	service.Stand(ctx, t.Grant().Owner)
	return service.Owned{Tenure: t}, nil
}

type asking struct {
	*Client
	Attempt
	op string
}

// failed is why an attempt failed. What the database has refused has had no effect; of what
// it did not answer that is not known.
func (w *asking) failed(op string, err error) error {
	if w.Database.Answer(err) != Unanswered {
		return fence.Definite.Wrap(fmt.Errorf("%s %q: %w", op, w.Attempt.Lock, err))
	}
	return &lock.UnknownError{Op: op, Scope: w.Attempt.Lock, Err: err}
}

// ErrElsewhere is why a Release has released nothing. Behind a pooler the session that has the
// lock may be another one.
var ErrElsewhere = fence.Definite.New("this session of the database does not have the lock")

// undone is what an unlock returns. One that the database has refused finds the lock gone,
// with the connection that had it.
func (w *asking) undone(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrElsewhere):
		return err
	case w.Database.Answer(err) != Unanswered:
		return fmt.Errorf("%w: %w", lock.ErrLost, err)
	}
	return w.failed("unlock", err)
}
