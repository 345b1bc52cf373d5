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

// Reach implements service.Client.
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

// Lock waits for a lock.
func (c *Client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("lock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.lock(ctx, nil)
}

// TryLock asks once.
func (c *Client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("trylock", scope, in)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Recipe.Dialect != "":
		return w.granted(ctx)(w.tryOwn(ctx))
	case c.Recipe.Hold != nil:
		return w.granted(ctx)(w.tryHold(ctx))
	case c.Recipe.Same != nil:
		return w.granted(ctx)(w.read(ctx))
	}
	conn, err := c.Database.Connect(ctx, scope)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	defer conn.HangUp()
	return w.granted(ctx)(w.try(ctx, conn))
}

// Enqueue asks in the background. It returns when the client waits for the lock, or when
// that has ended.
func (c *Client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	w, err := c.asking("lock", scope, "")
	if err != nil {
		return nil, err
	}
	return service.Wait(ctx, scope, w.lock)
}

// asking is a client that asks for a lock, perhaps more than once.
type asking struct {
	*Client
	Attempt
	op string
}

func (c *Client) asking(op, scope, in string) (*asking, error) {
	if in != "" {
		return nil, service.NotIn(c.Database.Name(), in)
	}
	return &asking{c, Attempt{Lock: scope, Owner: rand.Text(), Settings: c.Settings}, op}, nil
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

// lock waits for the lock. It calls stands, unless that is nil, with the name of the tenure to
// be when the client waits for another.
func (w *asking) lock(ctx context.Context, stands func(owner string)) (service.Tenure, error) {
	switch {
	case w.Recipe.Dialect != "":
		return w.granted(ctx)(w.lockOwn(ctx, stands))
	case w.Recipe.Hold != nil:
		return w.granted(ctx)(w.hold(ctx, stands))
	case w.Recipe.Same != nil:
		return w.granted(ctx)(w.read(ctx))
	}
	return w.granted(ctx)(w.ask(ctx, stands))
}
