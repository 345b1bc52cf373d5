package redislock_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// redisson is a mode of Redisson's, with a TTL of ttl.
func redisson[B lock.Backend](mode func(redis.UniversalClient, time.Duration, ...redislock.Option) (B, error), some ...redislock.Option) func(redis.UniversalClient) (lock.Backend, error) {
	return func(c redis.UniversalClient) (lock.Backend, error) { return mode(c, ttl, some...) }
}

func fairRedisson(c redis.UniversalClient, ttl time.Duration, some ...redislock.Option) (*redislock.Exclusive, error) {
	return redislock.RedissonFair(c, ttl, 2*ttl, some...) // a busy waiter keeps its place
}

func spring(ttl time.Duration) func(redis.UniversalClient) (lock.Backend, error) {
	return func(c redis.UniversalClient) (lock.Backend, error) { return redislock.Spring(c, "registry", ttl) }
}

func TestFairIsForNewAlone(t *testing.T) {
	for name, make := range map[string]func(redis.UniversalClient) (lock.Backend, error){
		"Redisson":          redisson(redislock.Redisson, redislock.Fair()),
		"RedissonFenced":    redisson(redislock.RedissonFenced, redislock.Fair()),
		"RedissonReadWrite": redisson(redislock.RedissonReadWrite, redislock.Fair()),
	} {
		if _, err := make(nil); err == nil {
			t.Errorf("%s takes the option Fair", name)
		}
	}
}

// TestModesWake: by a channel, so that nobody waits for the lease to end.
func TestModesWake(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]struct {
		make    func(redis.UniversalClient) (lock.Backend, error)
		channel string
	}{
		"redisson": {func(c redis.UniversalClient) (lock.Backend, error) { return redislock.Redisson(c, long) }, "redisson_lock__channel:{/lock}"},
		"write":    {func(c redis.UniversalClient) (lock.Backend, error) { return redislock.RedissonReadWrite(c, long) }, "redisson_rwlock:{/lock}"},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *redisproc.Server) {
				a, b := join(t, s, mode.make), join(t, s, mode.make)
				holder := a.take(t)
				waiting := inBackground(t.Context(), b.Lock)
				a.listeners(t, mode.channel, 1)
				wantUnlock(t, holder)
				wantUnlock(t, wantGrant(t, waiting))
			})
		})
	}
}

// TestSpringTells those that listen, though it does not rely on being told.
func TestSpringTells(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, spring(long))
		sub := a.client.Subscribe(t.Context(), "registry-channel:registry:/lock")
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil { // that it is subscribed
			t.Fatal(err)
		}
		wantUnlock(t, a.take(t))
		if news, err := sub.ReceiveMessage(t.Context()); err != nil || news.Payload != "registry:/lock" {
			t.Errorf("got %v, %v, want the key", news, err)
		}
	})
}

// TestModesSentAgain: what was done before is known.
func TestModesSentAgain(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		if k.name == "spring" {
			continue // its format has no place for it
		}
		t.Run(k.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *redisproc.Server) {
				a := join(t, s, k.backend)
				a.client.AddHook(hook(twice))
				takes := []func(*testing.T) lock.Tenure{a.take}
				if k.subject.Shared {
					takes = append(takes, a.rlock)
				}
				for range 3 {
					for _, take := range takes {
						wantUnlock(t, take(t))
					}
				}
			})
		})
	}
}

// TestNamesThatBeginAlike: the first of Redisson's threads is not taken for the tenth.
func TestNamesThatBeginAlike(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(redis.UniversalClient) (lock.Backend, error){
		"redisson": func(c redis.UniversalClient) (lock.Backend, error) { return redislock.Redisson(c, long) },
		"fair":     func(c redis.UniversalClient) (lock.Backend, error) { return redislock.RedissonFair(c, long, long) },
		"reader": func(c redis.UniversalClient) (lock.Backend, error) {
			both, err := redislock.RedissonReadWrite(c, long)
			return lock.Shared(both), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *redisproc.Server) {
				a := join(t, s, mode)
				if err := a.client.Ping(t.Context()).Err(); err != nil { // a has a connection
					t.Fatal(err)
				}
				var asked atomic.Int64
				sent, release := make(chan struct{}), make(chan struct{})
				a.client.AddHook(hook(func(send func() error) error {
					if asked.Add(1) == 1 {
						close(sent)
						<-release
					}
					return send()
				}))
				first := inBackground(t.Context(), a.Lock)
				<-sent
				for range 9 {
					wantUnlock(t, a.take(t))
				}
				close(release)
				wantUnlock(t, wantGrant(t, first))
			})
		})
	}
}
