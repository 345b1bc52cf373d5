package redislock_test

import (
	"context"
	"errors"
	"testing"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	syncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Other packages whose lock is a string that they set where there is none, as that of
// Spring and of a quorum: they exclude ours, and ours them.

// otherLock takes the lock of a key at once, and returns what frees it.
type otherLock func(ctx context.Context, key string) (unlock func() error, err error)

func ofRedsync(clients ...*redis.Client) otherLock {
	var pools []syncredis.Pool
	for _, client := range clients {
		pools = append(pools, goredis.NewPool(client))
	}
	all := redsync.New(pools...)
	return func(ctx context.Context, key string) (func() error, error) {
		mutex := all.NewMutex(key, redsync.WithExpiry(long))
		return func() error { _, err := mutex.UnlockContext(ctx); return err }, mutex.TryLockContext(ctx)
	}
}

func ofBSM(client *redis.Client) otherLock {
	return func(ctx context.Context, key string) (func() error, error) {
		held, err := bsm.Obtain(ctx, client, key, long, nil)
		return func() error { return held.Release(ctx) }, err
	}
}

func excludes(t *testing.T, ours lock.Backend, key string, theirs otherLock) {
	t.Helper()
	unlock, err := theirs(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	wantLocked(t, ours.TryLock)
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	holder := granted(t, ours.TryLock)
	if _, err := theirs(t.Context(), key); err == nil {
		t.Error("the other one has the lock, and ours was held")
	} else if taken := new(redsync.ErrTaken); !errors.As(err, &taken) && !errors.Is(err, bsm.ErrNotObtained) {
		t.Errorf("the other one says %v, want that the lock is taken", err)
	}
	wantUnlock(t, holder)
	if unlock, err = theirs(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

func TestOthersOfSpringsFormat(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, spring(long))
		t.Run("redsync", func(t *testing.T) { excludes(t, a, "registry:"+scope, ofRedsync(a.client)) })
		t.Run("bsm/redislock", func(t *testing.T) { excludes(t, a, "registry:"+scope, ofBSM(a.client)) })
	})
}

func TestRedsyncOnAQuorum(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := joinAll(t, append(nodes(t, redistest.Embedded, 2), s), long)
		excludes(t, a, scope, ofRedsync(a.clients...))
	})
}
