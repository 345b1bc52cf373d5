package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// redissonReentrant counts a token each time that its holder takes the lock.
var redissonReentrant = recipe{
	name: "redisson-reentrant", shows: history.ShowsLater, reenters: true, free: redissonUnlockScript,
	about: "Redisson's RFencedLock, whose holder can take it again, and has a new token each time. It is not renewed.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		keys := []string{a.lock, "redisson_lock_token:{" + a.lock + "}"}
		return a.number(redissonScript.Run(ctx, a.redis, keys, a.owner, a.ttl.Milliseconds()))
	},
}

// ownReentrant counts a token for each tenure.
var ownReentrant = recipe{
	name: "redislock-reentrant", shows: history.ShowsGrant, reenters: true,
	about: "Package redislock by Reenter of package lock: its holder can take it again, and keeps its token.",
	library: func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
		b, err := redislock.New(nodes[0], ttl)
		if err != nil {
			return nil, err
		}
		return lock.Reenter(b), nil
	},
}

// reentrant is a tenure whose client can ask again as the same owner.
type reentrant struct {
	service.Tenure
	asking *asking
}

// Again implements service.Reentrant.
func (r *reentrant) Again(ctx context.Context) (service.Tenure, error) { return r.asking.lock(ctx) }
