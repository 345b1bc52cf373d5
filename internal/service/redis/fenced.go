package redis

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
)

//go:embed fenced.lua
var fencedSource string

var fencedScript = redis.NewScript(fencedSource)

// fenced counts the token in the script that takes the lock.
var fenced = recipe{
	name: "fenced", shows: history.ShowsGrant,
	about: "SET with NX and PX, and INCR for the token, in one script.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		return a.number(fencedScript.Run(ctx, a.redis, []string{a.lock, counterOf(a.lock)}, a.owner, a.ttl.Milliseconds()))
	},
}
