package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// kinds are all that the package has, with what each is.
func kinds() []kind {
	return []kind{
		{"own", own(ttl), locktest.Subject{Shared: true}},
		{"own, fixed", own(ttl, redislock.FixedLease()), locktest.Subject{Shared: true, FixedLease: true}},
		{"fair", own(ttl, redislock.Fair()), locktest.Subject{Shared: true, Fair: true}},
		{"redisson", redisson(redislock.Redisson), locktest.Subject{NoToken: true}},
		{"redisson, fixed", redisson(redislock.Redisson, redislock.FixedLease()), locktest.Subject{NoToken: true, FixedLease: true}},
		{"redisson, fenced", redisson(redislock.RedissonFenced), locktest.Subject{}},
		{"redisson, fair", redisson(fairRedisson), locktest.Subject{NoToken: true, Fair: true}},
		{"redisson, readers and writers", redisson(redislock.RedissonReadWrite), locktest.Subject{NoToken: true, Shared: true}},
		{"spring", spring(ttl), locktest.Subject{NoToken: true, FixedLease: true}},
	}
}

func TestLaws(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Run("embedded", func(t *testing.T) {
				t.Parallel() // they wait more than they do
				laws(t, redistest.Embedded(t), k)
			})
			t.Run("redis", func(t *testing.T) {
				t.Parallel()
				k := k // which says that this one can be restarted
				s := redistest.Real(t, redisproc.Settings(t.TempDir(), "always")...)
				k.subject.Restart = func(ctx context.Context) error {
					if err := s.Process().Kill(); err != nil {
						return err
					}
					return s.Restart(ctx)
				}
				laws(t, s, k)
			})
		})
	}
}

func laws(t *testing.T, s *redisproc.Server, k kind) {
	subject := k.subject
	subject.TTL, subject.Slack = ttl, 3*time.Second
	subject.Open = func(context.Context) (locktest.Client, error) {
		link, err := network.New(s.Addr)
		if err != nil {
			return locktest.Client{}, err
		}
		p, err := connect(link.Addr(), k.backend)
		return locktest.Client{
			Backend: p.Backend,
			Crash:   func() { link.Tx.Shut(); link.Rx.Shut() },
			Wake:    func() { link.Tx.Open(); link.Rx.Open() },
			Close:   func() { p.client.Close(); link.Close() },
		}, err
	}
	locktest.Run(t, subject)
}
