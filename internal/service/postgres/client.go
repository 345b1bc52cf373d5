package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Name is what scenarios call the service.
const Name = "postgres"

// Dialer makes clients of PostgreSQL.
type Dialer struct{}

// Name implements service.Dialer, as those below do.
func (Dialer) Name() string { return Name }

// ClientSettings are those of the recipes.
func (Dialer) ClientSettings() []setting.Setting { return clientSettings }

// DefaultEndpoints is where PostgreSQL is by default.
func (Dialer) DefaultEndpoints() []string { return []string{"127.0.0.1:5432"} }

// Dial makes a client.
func (Dialer) Dial(o service.Options) (service.Client, error) {
	if len(o.Endpoints) != 1 {
		return nil, fmt.Errorf("endpoints are %q, want one HOST:PORT", o.Endpoints)
	}
	p := placeAt(o.Endpoints[0])
	if _, err := p.config(""); err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}
	return &client{p, o.Settings, service.RecipeOf(recipes, o.Settings)}, nil
}

// client takes its locks by a recipe. It has a connection for each thing that it does, and
// one for each lock that a connection has.
type client struct {
	place    place
	settings setting.Values
	recipe   *recipe
}

// Reach implements service.Client, as those below do.
func (c *client) Reach(ctx context.Context) error {
	conn, err := c.place.connect(ctx, "")
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (c *client) Close(context.Context) error { return nil }

func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("lock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.lock(ctx, nil)
}

func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("trylock", scope, in)
	if err != nil {
		return nil, err
	}
	if c.recipe.hold != nil {
		return w.tryHold(ctx)
	}
	conn, err := c.place.connect(ctx, databaseOf(scope))
	if err != nil {
		return nil, err
	}
	defer hangUp(conn)
	return w.try(ctx, conn)
}

// Enqueue asks in the background. It returns when the client waits for the lock, or when
// that has ended.
func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	w, err := c.asking("lock", scope, "")
	if err != nil {
		return nil, err
	}
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(string)) (service.Tenure, error) {
		return w.lock(ctx, func() { stands(w.owner) })
	})
}

// asking is a client that asks for a lock, perhaps more than once.
type asking struct {
	*client
	attempt
	op string
}

func (c *client) asking(op, scope, in string) (*asking, error) {
	if in != "" {
		return nil, fmt.Errorf("postgres: a client cannot take a lock in the tenure %q of another", in)
	}
	return &asking{c, attempt{lock: scope, owner: rand.Text(), settings: c.settings}, op}, nil
}

// failed is why an attempt failed. What PostgreSQL has refused has had no effect; of what
// it did not answer that is not known.
func (w *asking) failed(op string, err error) error {
	if errors.As(err, new(*pgconn.PgError)) {
		return fmt.Errorf("%s %q: %w", op, w.attempt.lock, err)
	}
	return &lock.UnknownError{Op: op, Scope: w.attempt.lock, Err: err}
}

// undone is what an unlock returns. One that PostgreSQL has refused finds the lock gone,
// with the connection that had it.
func (w *asking) undone(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*pgconn.PgError)):
		return fmt.Errorf("%w: %w", lock.ErrLost, err)
	}
	return w.failed("unlock", err)
}

// lock waits for the lock. It calls stands, unless that is nil, when the client waits for
// another.
func (w *asking) lock(ctx context.Context, stands func()) (service.Tenure, error) {
	if w.recipe.hold != nil {
		return w.hold(ctx, stands)
	}
	return w.ask(ctx, stands)
}

// hangUp closes a connection, whatever state it is in.
func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), service.LastAnswer)
	defer cancel()
	_ = conn.Close(ctx) // what it had ends with it
}
