package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
)

// SpringTTL is the default TTL of a RedisLockRegistry's locks.
const SpringTTL = time.Minute

// springPoll is how long a RedisLockRegistry's waiters sleep between two attempts.
const springPoll = 100 * time.Millisecond

var spring = recipe{
	take: read("spring"), renew: read("lease", "renew"), free: read("springfree"), inspect: read("springinspect"),
	keys: func(o options, t ticket) []string { return []string{o.prefix + ":" + t.scope} },
	channel: func(o options, t ticket) string {
		return o.prefix + "-channel:" + o.prefix + ":" + t.scope
	},
	poll: springPoll,
}

// Spring returns a backend whose locks are those of a RedisLockRegistry of Spring Integration
// 7. The argument registry is the registry's key, and the scope is the path of a lock. To
// Spring each tenure is a registry of its own. There are no tokens, and nothing renews the
// tenures, which are of type *Lease.
//
// Waiters ask every 100 ms, as Spring's waiters do, because a registry of the default type
// tells nobody that a lock is free. A registry of the type PUB_SUB_LOCK tells the waiters of
// this package, and is told by them.
//
// The format has no place for what was done before. If the first answer to an Unlock is lost
// and go-redis sends the Unlock again, Unlock returns ErrLost though the lock was freed.
func Spring(client redis.UniversalClient, registry string, ttl time.Duration) (*Exclusive, error) {
	return exclusive(client, ttl, &spring, func(context.Context, fence.Mode) string { return uuid() }, options{prefix: registry, fixed: true})
}
