package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// The locks of one node that are a key with the owner in it.
var (
	setnxExpire = plain{
		traits: traits{name: "setnx-expire", about: "SETNX, and then EXPIRE, as before Redis 2.6.12."},
		take: func(ctx context.Context, a *attempt) (bool, error) {
			taken, err := a.redis.SetNX(ctx, a.lock, a.owner, 0).Result()
			if err != nil || !taken {
				return false, err
			}
			a.stand(ctx)
			return true, a.redis.PExpire(ctx, a.lock, a.ttl).Err()
		},
	}
	// multiExpire: a transaction cannot do one command by the answer of another.
	multiExpire = plain{
		traits: traits{name: "multi-expire",
			about: "SETNX and EXPIRE in one MULTI: EXPIRE also runs if SETNX has not taken the lock."},
		take: func(ctx context.Context, a *attempt) (bool, error) {
			var taken *redis.BoolCmd
			_, err := a.redis.TxPipelined(ctx, func(tx redis.Pipeliner) error {
				taken = tx.SetNX(ctx, a.lock, a.owner, 0)
				return tx.PExpire(ctx, a.lock, a.ttl).Err()
			})
			return err == nil && taken.Val(), err
		},
	}
	luaExpire = plain{
		traits: traits{name: "lua", about: "SETNX and PEXPIRE in one script."},
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.run(ctx, luaExpireScript, a.lock).Bool()
		},
	}
	// setNXPX is the lock of Redis's own documentation, for one instance.
	setNXPX = plain{traits: traits{name: "set-nx-px", about: "SET with NX and PX, one command."}, take: takeNXPX}
	fenced  = plain{
		traits: traits{name: "fenced", gives: history.ShowsGrant, about: "SET with NX and PX, and INCR for the token, in one script."},
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.number(a.run(ctx, fencedScript, a.lock, counterOf(a.lock)))
		},
	}
	// tokenApart: whoever is stopped between the steps has a higher token than its successor.
	tokenApart = plain{
		traits: traits{name: "token-apart", gives: history.ShowsLater,
			about: "SET with NX and PX, and then INCR for the token, in a step of its own."},
		take: func(ctx context.Context, a *attempt) (bool, error) {
			taken, err := takeNXPX(ctx, a)
			if err != nil || !taken {
				return false, err
			}
			a.stand(ctx)
			n, err := a.redis.Incr(ctx, counterOf(a.lock)).Uint64()
			a.token = fence.Token(n)
			return true, err
		},
	}
	// listenOnly: where no message comes, who waits does so for ever.
	listenOnly = plain{
		traits: traits{name: "listen-only",
			about: "SET with NX and PX; a waiter asks again only after the message that the holder's unlock sends."},
		take: takeNXPX, listens: true,
	}
)

var luaExpireScript, fencedScript = script("luaexpire"), script("fenced")

func takeNXPX(ctx context.Context, a *attempt) (taken bool, err error) {
	err = a.redis.SetArgs(ctx, a.lock, a.owner, redis.SetArgs{Mode: "NX", TTL: a.ttl}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

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
