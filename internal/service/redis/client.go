package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Name is what scenarios call the service.
const Name = "redis"

// quiet keeps go-redis from writing to standard error: what matters is in the errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// The logger is the program's, and so is set before anything is asked.
func init() { redis.SetLogger(quiet{}) }

// Dial makes a client.
func Dial(o service.Options) (service.Client, error) {
	c := &client{settings: o.Settings, recipe: service.RecipeOf(recipes, o.Settings)}
	if c.recipe.peer != "" {
		return nil, service.ErrInJava(c.recipe.name)
	}
	for _, endpoint := range o.Endpoints {
		options, err := optionsOf(os.Getenv(urlEnv), endpoint)
		if err != nil {
			return nil, fmt.Errorf("endpoints: %w", err)
		}
		options.ConnMaxIdleTime = 1 // a connection that broke meanwhile can look whole for some ms
		c.nodes = append(c.nodes, redis.NewClient(options))
	}
	if c.recipe.library == nil {
		return c, nil
	}
	var err error
	c.locks, err = c.backend()
	return c, err
}

// urlEnv has the URL of a Redis that is there already, with its password, where no list of
// processes shows it.
const urlEnv = "FENCELAB_REDIS_URL"

// optionsOf are those of a client of the Redis at an address. A URL says the rest; "" is
// nothing.
func optionsOf(url, addr string) (*redis.Options, error) {
	options := new(redis.Options)
	if url != "" {
		var err error
		if options, err = redis.ParseURL(url); err != nil {
			return nil, err
		}
	}
	options.Addr = addr
	options.MaxRetries = -1 // what is asked twice is another story
	options.DialerRetries = 1
	options.ContextTimeoutEnabled = true
	return options, nil
}

// client takes its locks by a recipe.
type client struct {
	nodes    []*redis.Client
	settings setting.Values
	recipe   *recipe
	locks    lock.Backend // of a recipe that a library has
}

// Reach implements service.Client, as those below do.
func (c *client) Reach(ctx context.Context) error {
	for _, node := range c.nodes {
		if err := node.Ping(ctx).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) Close(context.Context) (err error) {
	for _, node := range c.nodes {
		err = errors.Join(err, node.Close())
	}
	return err
}

// ReadToken implements service.TokenReader.
func (c *client) ReadToken(ctx context.Context, lock string) (fence.Token, error) {
	d, err := contentsOf(ctx, c.nodes[0], []string{lock}, "")
	if err != nil {
		return 0, fmt.Errorf("asked Redis for the token of %s: %w", lock, err)
	}
	return counted(lock, nil, d), nil
}

// retry is how often a client that waits asks again.
const retry = 100 * time.Millisecond

func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("lock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.lock(ctx)
}

func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.asking("trylock", scope, in)
	if err != nil {
		return nil, err
	}
	if c.locks != nil {
		return w.byLibrary(ctx, c.locks.TryLock)
	}
	return w.try(ctx)
}

// asking is a client that asks for a lock, perhaps more than once.
type asking struct {
	*client
	op, scope, owner string
}

func (c *client) asking(op, scope, in string) (*asking, error) {
	if in != "" {
		return nil, service.NotIn(Name, in)
	}
	return &asking{c, op, scope, rand.Text()}, nil
}

// lock waits for the lock.
func (w *asking) lock(ctx context.Context) (t service.Tenure, err error) {
	if w.locks != nil {
		t, err = w.byLibrary(ctx, w.locks.Lock)
	} else {
		t, err = w.wait(ctx)
	}
	if err == nil && w.recipe.reenters {
		t = &reentrant{t, w}
	}
	return t, err
}

// try asks once. The error is lock.ErrLocked where the lock is another's.
func (w *asking) try(ctx context.Context) (service.Tenure, error) {
	if ctx.Err() != nil {
		return nil, fence.Definite.Wrap(ctx.Err())
	}
	conn := w.nodes[0].Conn() // one connection: WAIT is about what it wrote
	defer conn.Close()
	a := &attempt{redis: conn, nodes: w.nodes, asked: time.Now(), lock: w.scope, owner: w.owner, ttl: w.settings.Time(setting.TTL)}
	taken, err := w.recipe.take(ctx, a)
	if err == nil && taken {
		a.stand(ctx)
		err = w.replicated(ctx, a)
	}
	switch {
	case errors.Is(err, errNotReplicated):
		return nil, err
	case err != nil:
		return nil, &lock.UnknownError{Op: w.op, Scope: w.scope, Err: err}
	case !taken && w.recipe.quorum:
		return nil, service.ErrTooFew
	case !taken:
		return nil, lock.ErrLocked
	}
	t := &tenure{
		of: w.client, grant: lock.Grant{Scope: w.scope, Owner: w.owner, Token: a.token, Mode: w.recipe.mode},
		until: a.asked.Add(a.ttl), Life: service.NewLife(),
	}
	go t.keep()
	return t, nil
}

// wait asks until the lock is the client's, or ctx is done.
func (w *asking) wait(ctx context.Context) (service.Tenure, error) {
	news, hangUp, err := w.listen(ctx)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	defer hangUp()
	for {
		t, err := w.lastTry(ctx)
		if !errors.Is(err, lock.ErrLocked) {
			return t, err
		}
		tellOwner(ctx, w.owner)
		select {
		case <-news:
		case <-w.recipe.pause():
		case <-ctx.Done():
			return nil, fence.Definite.Wrap(ctx.Err())
		}
	}
}

// lastTry is a try that may be the last of a wait.
func (w *asking) lastTry(ctx context.Context) (service.Tenure, error) {
	if ctx.Err() != nil {
		return nil, fence.Definite.Wrap(ctx.Err())
	}
	late, stop := service.Patient(ctx, func() {})
	defer stop()
	return w.try(late)
}

// Enqueue asks in the background. It returns when the client has asked once, and the lock
// is another's, or when that has ended.
func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	w, err := c.asking("lock", scope, "")
	if err != nil {
		return nil, err
	}
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(string)) (service.Tenure, error) {
		return w.lock(toTell(ctx, stands))
	})
}
