package redis

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

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
