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
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// library is a recipe of package redislock, which renews its leases, but for redlock's and
// spring's, and releases what is theirs alone.
type library struct {
	traits
	open opening
}

// opening makes the lock of some nodes.
type opening func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error)

// ofFirst opens a lock of one node.
func ofFirst[B lock.Backend](
	open func(redis.UniversalClient, time.Duration, ...redislock.Option) (B, error), options ...redislock.Option,
) opening {
	return func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
		return open(nodes[0], ttl, options...)
	}
}

// ofPackage reports whether a recipe is one of package redislock.
func ofPackage(by recipe) bool {
	_, is := by.(*library)
	return is
}

func (*library) rules() []rule { return []rule{inItsWay, unreplicated} }

var (
	ownLock = library{
		traits{name: "redislock", gives: history.ShowsGrant, about: "Package redislock in its own format."},
		ofFirst(redislock.New),
	}
	ownFair = library{
		traits{name: "redislock-fair", gives: history.ShowsGrant, about: "The same with a queue, by the option Fair."},
		ofFirst(redislock.New, redislock.Fair()),
	}
	ownReentrant = library{
		traits{name: "redislock-reentrant", gives: history.ShowsGrant, reenters: true,
			about: "Package redislock by Reenter of package lock: its holder can take it again, with the same token."},
		func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			b, err := redislock.New(nodes[0], ttl)
			if err != nil {
				return nil, err
			}
			return lock.Reenter(b), nil
		},
	}

	redisson = library{traits{name: "redisson", about: "Redisson's RLock, as package redislock has it."},
		ofFirst(redislock.Redisson)}
	redissonFenced = library{traits{name: "redisson-fenced", gives: history.ShowsGrant, about: "Redisson's RFencedLock, likewise."},
		ofFirst(redislock.RedissonFenced)}
	redissonFair = library{
		traits{name: "redisson-fair", about: "Redisson's fair lock, likewise, which keeps a place in the queue for five minutes and longer."},
		func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.RedissonFair(nodes[0], ttl, redislock.RedissonWait)
		},
	}
	redissonRead = library{
		traits{name: "redisson-read", mode: fence.Shared, about: "The reader's lock of Redisson's RReadWriteLock, likewise."},
		func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			both, err := redislock.RedissonReadWrite(nodes[0], ttl)
			return lock.Shared(both), err
		},
	}
	redissonWrite = library{traits{name: "redisson-write", about: "The writer's, likewise."}, ofFirst(redislock.RedissonReadWrite)}

	redlock = library{
		traits{name: "redlock", on: most,
			about: "RedLock, a lock of most of 3 or 5 nodes, as package redislock has it. Nothing renews it. The nodes are no Redis Cluster."},
		func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
			return redislock.Quorum(nodes, ttl)
		},
	}
)

func (r *library) dial(c *client) (asker, error) {
	var nodes []redis.UniversalClient
	for _, node := range c.nodes {
		nodes = append(nodes, c.vote(node))
	}
	b, err := r.open(nodes, c.settings.Time(setting.TTL))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", service.By, err)
	}
	return opened{b, &r.traits}, nil
}

// vote is the client by which a library asks a node.
func (c *client) vote(node *redis.Client) redis.UniversalClient {
	if c.settings.Text(settingVotes) == votesCluster {
		of := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{node.Options().Addr}, MaxRetries: -1, ContextTimeoutEnabled: true})
		of.AddHook(overhear{})
		c.clusters = append(c.clusters, of)
		return of
	}
	node.AddHook(overhear{})
	return node
}

// opened is a library's lock, as a client asks for it.
type opened struct {
	lock.Backend
	by *traits
}

func (o opened) try(ctx context.Context, w *asking) (service.Tenure, error) {
	return o.taken(ctx, w, o.TryLock)
}

func (o opened) wait(ctx context.Context, w *asking) (service.Tenure, error) {
	return o.taken(ctx, w, o.Lock)
}

func (o opened) taken(ctx context.Context, w *asking, ask func(context.Context, string) (lock.Tenure, error)) (service.Tenure, error) {
	t, err := ask(ctx, w.scope)
	switch {
	case errors.Is(err, lock.ErrLocked):
		return nil, o.by.refusal()
	case err != nil:
		return nil, err
	}
	service.Stand(ctx, t.Grant().Owner)
	return w.held(t), nil
}

// overhear tells who asks by a script, as a library tells of its owner only when it has the lock.
type overhear struct{}

// tellKey is of a context in which who asks for a lock tells its owner once it has asked.
type tellKey struct{}

func tellOwner(ctx context.Context, owner string) {
	if tell, wanted := ctx.Value(tellKey{}).(func(string)); wanted {
		tell(owner)
	}
}

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

var spring = library{
	traits{name: "spring",
		about: "The lock of Spring Integration's RedisLockRegistry, likewise: nothing renews it, and a waiter asks every 100 ms."},
	func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
		b, err := redislock.Spring(nodes[0], springRegistry, ttl)
		return registry{b}, err
	},
}

// springRegistry is the key of the registry. The key of a lock of Spring is REGISTRY:PATH; a path
// of registry makes it libraryKey, which the account reads.
const springRegistry = "lock"

// registry has the locks of Spring under the names that a story gives them.
type registry struct{ lock.Backend }

func path(scope string) string { return strings.TrimPrefix(libraryKey(scope), springRegistry+":") }

func (r registry) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return r.Backend.Lock(ctx, path(scope))
}

func (r registry) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return r.Backend.TryLock(ctx, path(scope))
}

var redissonSpin = library{
	traits{name: "redisson-spin",
		about: "Redisson's RSpinLock, likewise: a waiter listens to no channel, and asks again after pauses that grow from 1 ms to 128 ms."},
	func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
		b, err := redislock.Redisson(nodes[0], ttl)
		return spinning{b}, err
	},
}

// The pauses of a RSpinLock: Redisson's defaults.
const (
	firstPause = time.Millisecond
	lastPause  = 128 * time.Millisecond
)

// spinning waits for a lock as Redisson's RSpinLock does: it asks again and again, and each pause is
// twice the one before. Each try has an owner of its own; in Redisson a thread has one for all.
type spinning struct{ lock.Backend }

func (s spinning) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	pause := firstPause
	for tries := 1; ; tries++ {
		t, err := s.TryLock(ctx, scope)
		if !errors.Is(err, lock.ErrLocked) {
			return t, err
		}
		if !sleep.For(ctx, pause) {
			return nil, fence.Definite.Wrap(ctx.Err())
		}
		pause = min(lastPause, 2*pause+rand.N(time.Duration(tries)*time.Millisecond))
	}
}
