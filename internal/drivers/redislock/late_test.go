package redislock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// TestExtensionThatComesLate: Redis carries it out after a later and longer one, and makes the lease no shorter.
func TestExtensionThatComesLate(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]func(redis.UniversalClient) (lock.Backend, error){
		"own":               own(renewed),
		"own, fixed":        own(renewed, redislock.FixedLease()),
		"redisson":          func(c redis.UniversalClient) (lock.Backend, error) { return redislock.Redisson(c, renewed) },
		"redisson, readers": func(c redis.UniversalClient) (lock.Backend, error) { return redislock.RedissonReadWrite(c, renewed) },
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *redisproc.Server) {
				a := join(t, s, mode)
				takes := []func(*testing.T) lock.Tenure{a.take}
				if _, shared := a.Backend.(lock.Sharer); shared {
					takes = append(takes, a.rlock)
				}
				var late func() error
				held := false // a request is, on its way
				a.client.AddHook(hook(func(send func() error) error {
					if held {
						held, late = false, send
						return errors.New("no answer")
					}
					return send()
				}))
				for _, take := range takes {
					tenure := take(t)
					extend := tenure.(lock.Extensible).Extend
					held = true
					if err := extend(t.Context(), long/2); !isUnknown(err) {
						t.Fatalf("Extend without an answer returned %v, want that its outcome is unknown", err)
					}
					if err := extend(t.Context(), 3*long); err != nil {
						t.Fatal(err)
					}
					if err := late(); err != nil {
						t.Fatal(err)
					}
					if left := a.left(t); left < 2*long {
						t.Errorf("the lease lasts %v, want the 3 minutes that were asked for last", left)
					}
					if err := extend(t.Context(), long); err != nil {
						t.Fatal(err)
					}
					if _, fixed := tenure.(lock.Extender); fixed != (a.left(t) <= long) {
						t.Errorf("after an extension by less the lease lasts %v; is it fixed: %v", a.left(t), fixed)
					}
					wantUnlock(t, tenure)
				}
			})
		})
	}
}

// left is how long the lease of the holder lasts, as Redis says.
func (p party) left(t *testing.T) time.Duration {
	t.Helper()
	state, err := p.Backend.(lock.Inspector).Inspect(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return state.Holders[0].Left
}
