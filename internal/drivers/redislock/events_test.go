package redislock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// eventsTTL is how long leases last while an observer is told of them: they are renewed in time on
// a busy machine, too.
const eventsTTL = 4 * time.Second

// TestEvents: an observer is told of everything, by a lease that is renewed, by one that is
// fixed, and by several servers.
func TestEvents(t *testing.T) {
	t.Parallel()
	quorum := func(clients []redis.UniversalClient) (lock.Backend, error) {
		return redislock.Quorum(clients, eventsTTL)
	}
	one := func(some ...redislock.Option) func([]redis.UniversalClient) (lock.Backend, error) {
		return func(clients []redis.UniversalClient) (lock.Backend, error) {
			return own(eventsTTL, some...)(clients[0])
		}
	}
	for name, tt := range map[string]struct {
		servers int
		fixed   bool
		make    func([]redis.UniversalClient) (lock.Backend, error)
	}{
		"renewed": {1, false, one()},
		"fixed":   {1, true, one(redislock.FixedLease())},
		"quorum":  {3, true, quorum},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var servers []*redisproc.Server
			for range tt.servers {
				servers = append(servers, redistest.Real(t))
			}
			locktest.Observed{
				Subject: locktest.Subject{
					Open:       func(context.Context) (locktest.Client, error) { return open(servers, tt.make) },
					FixedLease: tt.fixed, TTL: eventsTTL, Slack: 3 * time.Second,
				},
				Revoke: func(ctx context.Context, g lock.Grant) error {
					for _, s := range servers {
						client := redistest.Connect(t, s)
						keys, err := client.Keys(ctx, "*"+g.Scope+"*").Result()
						if err != nil {
							return err
						}
						for _, key := range keys {
							if !strings.HasSuffix(key, ":grants") { // which has the tokens
								client.Del(ctx, key)
							}
						}
					}
					return nil
				},
			}.Run(t)
		})
	}
}
