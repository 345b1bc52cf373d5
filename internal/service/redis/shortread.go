package redis

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/pkg/fence"
)

var (
	//go:embed shortread.lua
	shortReadSource string
	//go:embed shortunlock.lua
	shortUnlockSource string

	shortReadScript   = redis.NewScript(shortReadSource)
	shortUnlockScript = redis.NewScript(shortUnlockSource)
)

// shortRead is a reader of Redisson's as it was: it gives its own time to live to the lock
// that all readers share.
var shortRead = recipe{
	name: "redisson-read-short", shows: noToken, mode: fence.Shared, free: shortUnlockScript,
	about: "A reader as in an older Redisson, which sets the leases of all readers to its own TTL, also to a shorter one. It is not renewed.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		keys := []string{a.lock, "{" + a.lock + "}:" + a.owner + ":rwlock_timeout:1"}
		return shortReadScript.Run(ctx, a.redis, keys, a.owner, a.ttl.Milliseconds()).Bool()
	},
}
