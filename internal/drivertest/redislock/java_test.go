package redislock_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/drivertest/javapeer"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// The originals, in Java, on one server with the modes that have their formats.

// besideJava runs tests on each server, with a peer of its own. Each test finds the server
// empty. No other test runs meanwhile: Java keeps the processor busy.
func besideJava(t *testing.T, name string, tests map[string]func(*testing.T, *redisproc.Server, *javapeer.Peer)) {
	folder := filepath.Join("testdata", name)
	libraries := javapeer.Libraries(t, folder, name)
	for kind, server := range redistest.Servers() {
		t.Run(kind, func(t *testing.T) {
			s := server(t)
			java, client := javapeer.Start(t, folder, libraries, s.Addr, scope), redistest.Connect(t, s)
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					if err := client.FlushAll(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					test(t, s, java)
				})
			}
		})
	}
}

// TestRedisson: see eachOther; readers hold a lock together; and tokens are of one counter.
func TestRedisson(t *testing.T) {
	mode := func(make func(redis.UniversalClient, time.Duration, ...redislock.Option) (*redislock.Exclusive, error)) func(redis.UniversalClient) (lock.Backend, error) {
		return func(c redis.UniversalClient) (lock.Backend, error) { return make(c, redislock.RedissonTTL) }
	}
	fair := func(c redis.UniversalClient) (lock.Backend, error) {
		return redislock.RedissonFair(c, redislock.RedissonTTL, redislock.RedissonWait)
	}
	readWrite := func(c redis.UniversalClient) (lock.Backend, error) {
		return redislock.RedissonReadWrite(c, redislock.RedissonTTL)
	}
	besideJava(t, "redisson", map[string]func(*testing.T, *redisproc.Server, *javapeer.Peer){
		"lock":   eachOther("lock", mode(redislock.Redisson), "redisson_lock__channel:{/lock}"),
		"fenced": eachOther("fenced", mode(redislock.RedissonFenced), "redisson_lock__channel:{/lock}"),
		"fair":   eachOther("fair", fair, ""),
		"write":  eachOther("write", readWrite, "redisson_rwlock:{/lock}"),
		"readers": func(t *testing.T, s *redisproc.Server, java *javapeer.Peer) {
			ours := join(t, s, readWrite)
			reader := ours.rlock(t)
			java.Do(t, "read try", "locked")
			wantUnlock(t, reader)
			wantLocked(t, ours.TryLock)
			reader = ours.rlock(t)
			java.Do(t, "read unlock", "unlocked")
			wantLocked(t, ours.TryLock)
			wantUnlock(t, reader)
			writer := granted(t, ours.TryLock)
			java.Do(t, "read try", "refused")
			wantUnlock(t, writer)
		},
		"tokens": func(t *testing.T, s *redisproc.Server, java *javapeer.Peer) {
			ours := join(t, s, mode(redislock.RedissonFenced))
			java.Do(t, "fenced lock", "locked")
			java.Do(t, "fenced token", "1")
			java.Do(t, "fenced unlock", "unlocked")
			holder := ours.take(t)
			if token := holder.Grant().Token; token != 2 {
				t.Errorf("the token is %d, want 2", token)
			}
			wantUnlock(t, holder)
			java.Do(t, "fenced lock", "locked")
			java.Do(t, "fenced token", "3")
			java.Do(t, "fenced unlock", "unlocked")
		},
	})
}

// TestSpring: see eachOther.
func TestSpring(t *testing.T) {
	besideJava(t, "spring", map[string]func(*testing.T, *redisproc.Server, *javapeer.Peer){
		"spin":   eachOther("spin", spring(redislock.SpringTTL), ""),
		"pubsub": eachOther("pubsub", spring(redislock.SpringTTL), ""),
	})
}

// eachOther is a test that a kind of a peer's lock and the mode that has its format exclude
// each other, and wake each other where they do: by a channel on which all wait, or "".
func eachOther(kind string, make func(redis.UniversalClient) (lock.Backend, error), channel string) func(*testing.T, *redisproc.Server, *javapeer.Peer) {
	return func(t *testing.T, s *redisproc.Server, java *javapeer.Peer) {
		ours := join(t, s, make)
		java.Do(t, kind+" try", "locked")
		wantLocked(t, ours.TryLock)
		waiting := inBackground(t.Context(), ours.Lock)
		if channel != "" {
			ours.listeners(t, channel, 1)
		}
		java.Do(t, kind+" unlock", "unlocked")
		holder := wantGrant(t, waiting)

		java.Do(t, kind+" try", "refused")
		java.Send(t, kind+" lock")
		if channel != "" {
			ours.listeners(t, channel, 1)
		}
		wantUnlock(t, holder)
		java.Want(t, "locked")
		java.Do(t, kind+" unlock", "unlocked")
		wantUnlock(t, granted(t, ours.TryLock))
	}
}
