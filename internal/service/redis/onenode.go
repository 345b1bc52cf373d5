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
	setnxExpire = recipe{
		name: "setnx-expire", about: "SETNX, and then EXPIRE, as before Redis 2.6.12.",
		take: func(ctx context.Context, a *attempt) (bool, error) {
			taken, err := a.redis.SetNX(ctx, a.lock, a.owner, 0).Result()
			if err != nil || !taken {
				return false, err
			}
			a.stand(ctx)
			return true, a.redis.PExpire(ctx, a.lock, a.ttl).Err()
		},
	}
	luaExpire = recipe{
		name: "lua", about: "SETNX and PEXPIRE in one script.",
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.run(ctx, luaExpireScript, a.lock).Bool()
		},
	}
	// setNXPX is the lock of Redis's own documentation, for one instance.
	setNXPX = recipe{name: "set-nx-px", about: "SET with NX and PX, one command.", take: takeNXPX}
	fenced  = recipe{
		name: "fenced", gives: history.ShowsGrant, about: "SET with NX and PX, and INCR for the token, in one script.",
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.number(a.run(ctx, fencedScript, a.lock, counterOf(a.lock)))
		},
	}
	// tokenApart: whoever is stopped between the steps has a higher token than its successor.
	tokenApart = recipe{
		name: "token-apart", gives: history.ShowsLater,
		about: "SET with NX and PX, and then INCR for the token, in a step of its own.",
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
	listenOnly = recipe{
		name:  "listen-only",
		about: "SET with NX and PX; who waits asks again only when the unlock of the holder has sent a message.",
		take:  takeNXPX, listens: true,
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
	redissonReentrant = recipe{
		name: "redisson-reentrant", gives: history.ShowsLater, reenters: true,
		about:  "Redisson's RFencedLock, whose holder can take it again, and has a new token each time. It is not renewed.",
		unlock: redissonUnlockScript,
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.number(a.run(ctx, redissonScript, a.lock, "redisson_lock_token:{"+a.lock+"}"))
		},
	}
	// shortRead gives its own time to live to the lock that all readers share.
	shortRead = recipe{
		name: "redisson-read-short", mode: fence.Shared,
		about:  "A reader as in an older Redisson, which sets the leases of all readers to its own TTL, also to a shorter one. It is not renewed.",
		unlock: shortUnlockScript,
		take: func(ctx context.Context, a *attempt) (bool, error) {
			return a.run(ctx, shortReadScript, a.lock, "{"+a.lock+"}:"+a.owner+":rwlock_timeout:1").Bool()
		},
	}
)
