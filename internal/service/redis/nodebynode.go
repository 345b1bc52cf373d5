package redis

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// The locks of several nodes that Redisson asks for one node after the other.
var (
	// redlockNaive: whoever has most of the nodes in the end holds it, however long that took.
	redlockNaive = plain{
		traits: traits{name: "redlock-naive", on: most,
			about: "As redlock, but it asks one node after the other, waits 3 s for each, and does not compare the validity time."},
		take: func(ctx context.Context, a *attempt) (bool, error) {
			taken := a.nodeByNode(ctx)
			a.asked = time.Now() // for it the lease begins here
			return taken, nil
		},
	}
	redlockPatient = plain{
		traits: traits{name: "redlock-patient", on: most, about: "As redlock-naive, but a lock whose validity time is over is released."},
		take: func(ctx context.Context, a *attempt) (bool, error) {
			if !a.nodeByNode(ctx) {
				return false, nil
			}
			if time.Since(a.asked) < a.ttl-a.ttl/100-2*time.Millisecond { // clocks drift
				return true, nil
			}
			a.giveBack(ctx, unlockScript)
			return false, nil
		},
	}
	// redissonMulti: a node that is silent or dead keeps the lock from everybody.
	redissonMulti = scripted{
		traits: traits{name: "redisson-multi", on: everyOne,
			about: "Redisson's RedissonMultiLock on 3 or 5 nodes: all of them, one after the other, or none. Nothing renews it."},
		unlock: redissonUnlockScript,
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
)

// nodeTimeout is how long they wait for the answer of a node: Redisson's default, which knows
// nothing of the TTL.
const nodeTimeout = 3 * time.Second

// nodeByNode reports whether most nodes have the lock for the client. Else none keeps it.
func (a *attempt) nodeByNode(ctx context.Context) bool {
	taken := 0
	for _, node := range a.nodes {
		err := within(ctx, func(ctx context.Context) error {
			return node.SetArgs(ctx, a.lock, a.owner, redis.SetArgs{Mode: "NX", TTL: a.ttl}).Err()
		})
		if err == nil {
			taken++
		}
	}
	if 2*taken > len(a.nodes) {
		return true
	}
	a.giveBack(ctx, unlockScript)
	return false
}

// giveBack frees what the client has, on the nodes that answer.
func (a *attempt) giveBack(ctx context.Context, free *redis.Script) {
	for _, node := range a.nodes {
		_ = within(ctx, func(ctx context.Context) error {
			return free.Run(ctx, node, []string{a.lock}, a.owner).Err()
		})
	}
}

// within bounds what a node is asked.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	return ask(ctx)
}
