package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

const Name = "redis"

// quiet keeps go-redis from writing to standard error: what matters is in the errors.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// The logger is the program's, and so is set before anything is asked.
func init() { redis.SetLogger(quiet{}) }

func Dial(o service.Options) (service.Client, error) {
	by := service.RecipeOf(recipes, o.Settings)
	c := &client{settings: o.Settings, by: by.common()}
	for _, endpoint := range o.Endpoints {
		options, err := optionsOf(os.Getenv(urlEnv), endpoint)
		if err != nil {
			return nil, fmt.Errorf("endpoints: %w", err)
		}
		options.ConnMaxIdleTime = 1 // a connection that broke meanwhile can look whole for some ms
		c.nodes = append(c.nodes, redis.NewClient(options))
	}
	var err error
	if c.asker, err = by.dial(c); err != nil {
		return nil, err
	}
	return c, nil
}

// urlEnv has the URL of a Redis that is there already, with its password, where no list of
// processes shows it.
const urlEnv = "FENCELAB_REDIS_URL"

// optionsOf are those of a client of the Redis at an address. A URL says the rest; "" is nothing.
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

type client struct {
	nodes    []*redis.Client
	clusters []*redis.ClusterClient // with votes: cluster, by the nodes
	settings setting.Values
	by       *traits
	asker    asker
}

// Reach needs more than half of the nodes: with so many a client can have a lock.
func (c *client) Reach(ctx context.Context) (err error) {
	reached := 0
	for _, node := range c.nodes {
		if wrong := node.Ping(ctx).Err(); wrong != nil {
			err = errors.Join(err, wrong)
		} else {
			reached++
		}
	}
	if 2*reached > len(c.nodes) {
		return nil
	}
	return err
}

func (c *client) Close(context.Context) (err error) {
	for _, node := range c.nodes {
		err = errors.Join(err, node.Close())
	}
	for _, cluster := range c.clusters {
		err = errors.Join(err, cluster.Close())
	}
	return err
}

func (c *client) ReadToken(ctx context.Context, lock string) (fence.Token, error) {
	d, err := contentsOf(ctx, c.nodes[0], []string{lock}, "")
	if err != nil {
		return 0, fmt.Errorf("asked Redis for the token of %s: %w", lock, err)
	}
	return counted(lock, nil, d), nil
}

// Inspect is as lock.Inspector says, by package redislock.
func (c *client) Inspect(ctx context.Context, scope string) (lock.State, error) {
	if library, is := c.asker.(opened); is {
		if i, is := library.Backend.(lock.Inspector); is {
			return i.Inspect(ctx, scope)
		}
	}
	return lock.State{}, service.NotTold(c.by)
}

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
	return c.asker.try(ctx, w)
}

// Enqueue asks in the background. It returns when the client has asked once, and the lock
// is another's, or when that has ended.
func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	w, err := c.asking("lock", scope, "")
	if err != nil {
		return nil, err
	}
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(string)) (service.Tenure, error) {
		return w.lock(context.WithValue(ctx, tellKey{}, stands))
	})
}

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

func (w *asking) lock(ctx context.Context) (service.Tenure, error) {
	t, err := w.asker.wait(ctx, w)
	if err == nil && w.by.reenters {
		t = &reentrant{t, w}
	}
	return t, err
}

func (w *asking) held(t lock.Tenure) service.Tenure {
	return &held{service.Owned{Tenure: t}, w.client, w.scope}
}

type held struct {
	service.Owned
	of    *client
	scope string
}

// Look asks the first node who holds the lock, as its keys say it, and so does the account.
func (h *held) Look(ctx context.Context, _ string) (said string, err error) {
	question := "asked Redis whose " + h.scope + " is"
	d, err := contentsOf(ctx, h.of.nodes[0], []string{h.scope}, "")
	if err != nil {
		return "", fmt.Errorf("%s: %w", question, err)
	}
	owners := d.holders(h.scope)
	switch _, mine := owners[h.Name()]; {
	case len(owners) == 0:
		return "", service.NotHeld(question + ": nobody's")
	case !mine:
		return "", service.NotHeld(question + ": another's")
	}
	return question + ": its own", nil
}

// reentrant is a tenure whose client can ask again as the same owner.
type reentrant struct {
	service.Tenure
	asking *asking
}

func (r *reentrant) Again(ctx context.Context) (service.Tenure, error) { return r.asking.lock(ctx) }

var unlockScript, renewScript = script("unlock"), script("renew")

// tenure is one of a client, by a recipe of requests.
type tenure struct {
	*service.Life

	of    *client
	grant lock.Grant
	free  freeing

	mu    sync.Mutex
	until time.Time // the end of the lease, by the client's clock
}

// freeing releases a lock on a node, and reports whether it was there, to be released.
type freeing func(ctx context.Context, node *redis.Client, t *tenure) (mine bool, err error)

// bound is for how many TTLs a watchdog with a bound renews a lease.
const bound = 3

// keep closes done when the lease is over by the client's clock. Where the client renews
// its leases, keep does so. A watchdog that takes the lock again knows of no end.
func (t *tenure) keep() {
	ttl := t.of.settings.Time(setting.TTL)
	how, begun := t.of.settings.Text(settingRenew), time.Now()
	for {
		next := time.Until(t.lease())
		renews := how == renewWatchdog || how == renewSet || how == renewBounded && time.Since(begun) < bound*ttl
		if renews {
			next = min(next, ttl/3)
		}
		if !sleep.For(t.Context(), next) {
			return
		}
		if renews {
			t.renew(ttl)
		}
		if how != renewSet && !time.Now().Before(t.lease()) {
			t.End(lock.ErrCutOff)
		}
	}
}

func (t *tenure) lease() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

// renew gives the lease its whole time anew, if it is not over. renewSet does not ask.
func (t *tenure) renew(ttl time.Duration) {
	asked := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), asked.Add(ttl/3))
	defer cancel()
	var err error
	mine := true
	if t.of.settings.Text(settingRenew) == renewSet {
		err = t.of.nodes[0].Set(ctx, t.grant.Scope, t.grant.Owner, ttl).Err()
	} else {
		mine, err = renewScript.Run(ctx, t.of.nodes[0], []string{t.grant.Scope}, t.grant.Owner, ttl.Milliseconds()).Bool()
	}
	switch {
	case err != nil: // the next time, or never
	case !mine:
		t.End(lock.ErrLost)
	default:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.until = asked.Add(ttl)
	}
}

func (t *tenure) Grant() lock.Grant { return t.grant }

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	freed := 0
	var failed error
	for _, node := range t.of.nodes {
		mine, err := t.free(ctx, node, t)
		failed = errors.Join(failed, err)
		if mine && err == nil {
			freed++
		}
	}
	switch {
	case 2*freed > len(t.of.nodes):
		return nil
	case failed != nil:
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: failed}
	}
	return lock.ErrLost
}
