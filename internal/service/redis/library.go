package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// opening makes the lock of package redislock on some nodes, which renews its leases, but for
// redlock's and spring's, and releases what is theirs alone.
type opening func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error)

// ofFirst opens a lock of one node.
func ofFirst[B lock.Backend](
	open func(redis.UniversalClient, time.Duration, ...redislock.Option) (B, error), options ...redislock.Option,
) opening {
	return func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
		return open(nodes[0], ttl, options...)
	}
}

var (
	ownLock = recipe{name: "redislock", gives: history.ShowsGrant, open: ofFirst(redislock.New),
		about: "Package redislock in its own format."}
	ownFair = recipe{name: "redislock-fair", gives: history.ShowsGrant, open: ofFirst(redislock.New, redislock.Fair()),
		about: "The same with a queue, by the option Fair."}
	ownReentrant = recipe{name: "redislock-reentrant", gives: history.ShowsGrant, reenters: true,
		about: "Package redislock by Reenter of package lock: its holder can take it again, and keeps its token.",
		open: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			b, err := redislock.New(nodes[0], ttl)
			return lock.Reenter(b), err
		}}

	redisson = recipe{name: "redisson", open: ofFirst(redislock.Redisson),
		about: "Redisson's RLock, as package redislock has it."}
	redissonFenced = recipe{name: "redisson-fenced", gives: history.ShowsGrant, open: ofFirst(redislock.RedissonFenced),
		about: "Redisson's RFencedLock, likewise."}
	redissonFair = recipe{name: "redisson-fair",
		about: "Redisson's fair lock, likewise, which keeps a place in the queue for five minutes and longer.",
		open: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.RedissonFair(nodes[0], ttl, redislock.RedissonWait)
		}}
	redissonRead = recipe{name: "redisson-read", mode: fence.Shared,
		about: "The reader's lock of Redisson's RReadWriteLock, likewise.",
		open: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			both, err := redislock.RedissonReadWrite(nodes[0], ttl)
			return lock.Shared(both), err
		}}
	redissonWrite = recipe{name: "redisson-write", open: ofFirst(redislock.RedissonReadWrite), about: "The writer's, likewise."}
	redissonSpin  = recipe{name: "redisson-spin",
		about: "Redisson's RSpinLock, likewise: who waits listens to no channel, and asks again after pauses that grow from 1 ms to 128 ms.",
		open: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			b, err := redislock.Redisson(nodes[0], ttl)
			return spinning{b}, err
		}}

	redlock = recipe{name: "redlock", on: most,
		about: "RedLock, a lock of most of 3 or 5 nodes, as package redislock has it; nothing renews it. The nodes know nothing of one another: they are no Redis Cluster.",
		open: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.Quorum(nodes, ttl)
		}}
	spring = recipe{name: "spring",
		about: "The lock of a RedisLockRegistry of Spring Integration, likewise: nothing renews it, and who waits asks every 100 ms.",
		open: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			b, err := redislock.Spring(nodes[0], springRegistry, ttl)
			return registry{b}, err
		}}
)

// dialLibrary opens the client's lock of package redislock.
func (c *client) dialLibrary() (err error) {
	var nodes []redis.UniversalClient
	for _, node := range c.nodes {
		node.AddHook(overhear{})
		nodes = append(nodes, node)
	}
	if c.library, err = c.by.open(nodes, c.settings.Time(setting.TTL)); err != nil {
		return fmt.Errorf("%s: %w", service.By, err)
	}
	return nil
}

func (w *asking) take(ctx context.Context, ask func(context.Context, string) (lock.Tenure, error)) (service.Tenure, error) {
	t, err := ask(ctx, w.scope)
	switch {
	case errors.Is(err, lock.ErrLocked):
		return nil, w.by.refusal()
	case err != nil:
		return nil, err
	}
	service.Stand(ctx, t.Grant().Owner)
	return w.held(t), nil
}

// The pauses of a RSpinLock: Redisson's defaults.
const (
	firstPause = time.Millisecond
	lastPause  = 128 * time.Millisecond
)

// spinning waits for a lock as Redisson's RSpinLock does: it asks again and again, and each
// pause is twice the one before. Each try has an owner of its own; in Redisson a thread has
// one for all.
type spinning struct{ lock.Backend }

// Lock implements lock.Backend.
func (s spinning) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	pause := firstPause
	for tries := 1; ; tries++ {
		t, err := s.TryLock(ctx, scope)
		if !errors.Is(err, lock.ErrLocked) {
			return t, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fence.Definite.Wrap(ctx.Err())
		}
		pause = min(lastPause, 2*pause+rand.N(time.Duration(tries)*time.Millisecond))
	}
}

// springRegistry is the key of the registry. The key of a lock of Spring is REGISTRY:PATH; a path
// of registry makes it libraryKey, which the account reads.
const springRegistry = "lock"

// registry has the locks of Spring under the names that a story gives them.
type registry struct{ lock.Backend }

func path(scope string) string { return strings.TrimPrefix(libraryKey(scope), springRegistry+":") }

// Lock implements lock.Backend, as TryLock does.
func (r registry) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return r.Backend.Lock(ctx, path(scope))
}

func (r registry) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return r.Backend.TryLock(ctx, path(scope))
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

// ProcessHook implements redis.Hook, as the next two do.
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
