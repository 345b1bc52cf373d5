package redis

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed redisson.lua
	redissonSource string
	//go:embed redissonunlock.lua
	redissonUnlockSource string

	redissonScript       = redis.NewScript(redissonSource)
	redissonUnlockScript = redis.NewScript(redissonUnlockSource)
)

// redissonMulti takes the lock as tryLock of Redisson's RedissonMultiLock does, of one RLock
// on each node: one node after the other, and all of them or none. A node that is silent or
// dead keeps the lock from everybody.
var redissonMulti = recipe{
	name: "redisson-multi", shows: noToken, quorum: true, every: true, free: redissonUnlockScript,
	about: "Redisson's RedissonMultiLock of a lock on each of 3 or 5 nodes: it asks one node after the other, for all of them or none. Nothing renews it.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		for _, node := range a.nodes {
			err := within(ctx, func(ctx context.Context) error {
				return redissonScript.Run(ctx, node, []string{a.lock}, a.owner, a.ttl.Milliseconds()).Err()
			})
			if err != nil { // redis.Nil: it is another's
				a.giveBack(ctx, redissonUnlockScript) // also what a node took and did not answer
				return false, nil
			}
		}
		return true, nil
	},
}
