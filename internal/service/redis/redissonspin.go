package redis

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

var redissonSpin = library{
	traits{name: "redisson-spin",
		about: "Redisson's RSpinLock, likewise: a waiter listens to no channel, and asks again after pauses that grow from 1 ms to 128 ms."},
	func(nodes []redis.UniversalClient, ttl time.Duration) (lock.Backend, error) {
		b, err := redislock.Redisson(nodes[0], ttl)
		return spinning{b}, err
	},
}

// The pauses of a RSpinLock: Redisson's defaults.
const (
	firstPause = time.Millisecond
	lastPause  = 128 * time.Millisecond
)

// spinning waits for a lock as Redisson's RSpinLock does: it asks again and again, and each pause is
// twice the one before. Each try has an owner of its own; in Redisson a thread has one for all.
type spinning struct{ lock.Backend }

func (s spinning) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	pause := firstPause
	for tries := 1; ; tries++ {
		t, err := s.TryLock(ctx, scope)
		if !errors.Is(err, lock.ErrLocked) {
			return t, err
		}
		if !sleep.For(ctx, pause) {
			return nil, fence.Definite.Wrap(ctx.Err())
		}
		pause = min(lastPause, 2*pause+rand.N(time.Duration(tries)*time.Millisecond))
	}
}
