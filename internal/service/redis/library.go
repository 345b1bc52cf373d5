package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// library makes a recipe of a way to take locks that package redislock has.
type library func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error)

// The recipes of package redislock. They renew their leases, but for redlock's and spring's,
// and release what is theirs alone.
var (
	ownLock = recipe{
		name: "redislock", shows: history.ShowsGrant, about: "Package redislock in its own format.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.New(nodes[0], ttl)
		},
	}
	ownFair = recipe{
		name: "redislock-fair", shows: history.ShowsGrant, about: "The same with a queue, by the option Fair.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.New(nodes[0], ttl, redislock.Fair())
		},
	}
	redisson = recipe{
		name: "redisson", shows: noToken, about: "Redisson's RLock, as package redislock has it.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.Redisson(nodes[0], ttl)
		},
	}
	redissonFenced = recipe{
		name: "redisson-fenced", shows: history.ShowsGrant, about: "Redisson's RFencedLock, likewise.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.RedissonFenced(nodes[0], ttl)
		},
	}
	redissonSpin = recipe{
		name: "redisson-spin", shows: noToken, about: "Redisson's RSpinLock, likewise: who waits listens to no channel, and asks again after pauses that grow from 1 ms to 128 ms.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			b, err := redislock.Redisson(nodes[0], ttl)
			return spinning{b}, err
		},
	}
	redissonFair = recipe{
		name: "redisson-fair", shows: noToken, about: "Redisson's fair lock, likewise, which keeps a place in the queue for five minutes and longer.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.RedissonFair(nodes[0], ttl, redislock.RedissonWait)
		},
	}
	redissonRead = recipe{
		name: "redisson-read", shows: noToken, about: "The reader's lock of Redisson's RReadWriteLock, likewise.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			both, err := redislock.RedissonReadWrite(nodes[0], ttl)
			return lock.Shared(both), err
		},
	}
	redissonWrite = recipe{
		name: "redisson-write", shows: noToken, about: "The writer's, likewise.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.RedissonReadWrite(nodes[0], ttl)
		},
	}
	spring = recipe{
		name: "spring", shows: noToken, path: springPath,
		about: "The lock of a RedisLockRegistry of Spring Integration, likewise: nothing renews it, and who waits asks every 100 ms.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.Spring(nodes[0], springRegistry, ttl)
		},
	}
	redlock = recipe{
		name: "redlock", shows: noToken, quorum: true, about: "RedLock, a lock of most of 3 or 5 nodes, as package redislock has it; nothing renews it. The nodes know nothing of one another: they are no Redis Cluster.",
		library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.Quorum(nodes, ttl)
		},
	}
)

// springRegistry is the key of the registry of the recipe spring. The key of a lock of Spring
// is REGISTRY:PATH; this registry and springPath make it libraryKey, which the account reads.
const springRegistry = "lock"

func springPath(lock string) string { return strings.TrimPrefix(libraryKey(lock), springRegistry+":") }

// backend is the client's own of a library.
func (c *client) backend() (lock.Backend, error) {
	var nodes []redis.UniversalClient
	for _, node := range c.nodes {
		node.AddHook(overhear{})
		nodes = append(nodes, node)
	}
	b, err := c.recipe.library(nodes, c.settings.Time(setting.TTL))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", service.By, err)
	}
	return b, nil
}

// byLibrary asks a library for a lock.
func (w *asking) byLibrary(ctx context.Context, ask func(context.Context, string) (lock.Tenure, error)) (service.Tenure, error) {
	path := w.scope
	if w.recipe.path != nil {
		path = w.recipe.path(path)
	}
	t, err := ask(ctx, path)
	switch {
	case errors.Is(err, lock.ErrLocked) && w.recipe.quorum:
		return nil, service.ErrTooFew
	case err != nil:
		return nil, err
	}
	service.Stand(ctx, t.Grant().Owner)
	return &borrowed{t, w.client, w.scope}, nil
}

// overhear tells who asks by a script, as a library tells of its owner only when it has the
// lock.
type overhear struct{}

type tellKey struct{}

// toTell returns a context in which who asks for a lock tells its owner once it has asked.
func toTell(ctx context.Context, tell func(owner string)) context.Context {
	return context.WithValue(ctx, tellKey{}, tell)
}

func tellOwner(ctx context.Context, owner string) {
	if tell, wanted := ctx.Value(tellKey{}).(func(string)); wanted {
		tell(owner)
	}
}

// ProcessHook implements redis.Hook, as those below do.
func (overhear) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err != nil && err != redis.Nil || cmd.Name() != "evalsha" && cmd.Name() != "eval" {
			return err
		}
		args := cmd.Args()
		if keys, is := args[2].(int); is && len(args) > 3+keys {
			tellOwner(ctx, fmt.Sprint(args[3+keys]))
		}
		return err
	}
}

func (overhear) DialHook(next redis.DialHook) redis.DialHook { return next }

func (overhear) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// borrowed is a tenure of a library's.
type borrowed struct {
	lock.Tenure
	of    *client
	scope string
}

// Name implements service.Tenure, as those below do.
func (b *borrowed) Name() string { return b.Grant().Owner }

func (b *borrowed) Session() string { return b.Grant().Owner }

func (b *borrowed) Shown() (token fence.Token, remark string) { return b.Grant().Token, "" }

// Look asks as the account does.
func (b *borrowed) Look(ctx context.Context, _ string) (said string, err error) {
	return b.of.look(ctx, lock.Grant{Scope: b.scope, Owner: b.Name()})
}
