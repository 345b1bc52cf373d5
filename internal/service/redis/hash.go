package redis

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

var (
	redissonScript, redissonUnlockScript = script("redisson"), script("redissonunlock")
	shortReadScript, shortUnlockScript   = script("shortread"), script("shortunlock")
)

// The locks of one node that are a hash, as Redisson's are.
var (
	// redissonReentrant counts a token each time that its holder takes the lock.
	redissonReentrant = scripted{
		traits: traits{name: "redisson-reentrant", gives: history.ShowsLater, reenters: true,
			about: "Redisson's RFencedLock, whose holder can take it again, with a new token each time. Nothing renews it."},
		unlock: redissonUnlockScript,
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.number(a.run(ctx, redissonScript, a.lock, "redisson_lock_token:{"+a.lock+"}"))
		},
	}
	// shortRead gives its own time to live to the lock that all readers share.
	shortRead = scripted{
		traits: traits{name: "redisson-read-short", mode: fence.Shared,
			about: "A reader as in an older Redisson, which sets the leases of all readers to its own TTL, also to a shorter one. Nothing renews it."},
		unlock: shortUnlockScript,
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.run(ctx, shortReadScript, a.lock, "{"+a.lock+"}:"+a.owner+":rwlock_timeout:1").Bool()
		},
	}
)
