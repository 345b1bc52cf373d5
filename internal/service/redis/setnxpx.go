package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// setNXPX is the lock of Redis's own documentation, for one instance.
var setNXPX = recipe{
	name: "set-nx-px", shows: noToken,
	about: "SET with NX and PX, one command.",
	take:  func(ctx context.Context, a *attempt) (bool, error) { return a.setNXPX(ctx) },
}

func (a *attempt) setNXPX(ctx context.Context) (taken bool, err error) {
	err = a.redis.SetArgs(ctx, a.lock, a.owner, redis.SetArgs{Mode: "NX", TTL: a.ttl}).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}
