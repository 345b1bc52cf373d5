package redis

import "context"

// setnxExpire is how locks were taken before Redis 2.6.12, which could not do it at once.
var setnxExpire = recipe{
	name: "setnx-expire", shows: noToken,
	about: "SETNX, and then EXPIRE, as before Redis 2.6.12.",
	take: func(ctx context.Context, a *attempt) (bool, error) {
		taken, err := a.redis.SetNX(ctx, a.lock, a.owner, 0).Result()
		if err != nil || !taken {
			return false, err
		}
		a.stand(ctx)
		return true, a.redis.PExpire(ctx, a.lock, a.ttl).Err()
	},
}
