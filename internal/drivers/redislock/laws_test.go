package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// kinds are all that the package has, with what each is.
func kinds() []kind {
	return []kind{
		{"own", own(ttl), locktest.Subject{Shared: true}},
		{"own, fixed", own(ttl, redislock.FixedLease()), locktest.Subject{Shared: true, FixedLease: true}},
		{"own, pipelined", pipelined(own(ttl)), locktest.Subject{Shared: true}},
		{"fair, clock tokens", own(ttl, redislock.Fair(), redislock.ClockTokens()), locktest.Subject{Shared: true, Fair: true}},
		{"redisson", redisson(redislock.Redisson), locktest.Subject{NoWords: true, NoToken: true}},
		{"redisson, fixed", redisson(redislock.Redisson, redislock.FixedLease()), locktest.Subject{NoWords: true, NoToken: true, FixedLease: true}},
		{"redisson, fenced", redisson(redislock.RedissonFenced), locktest.Subject{NoWords: true}},
		{"redisson, fair", redisson(fairRedisson), locktest.Subject{NoWords: true, NoToken: true, Fair: true}},
		{"redisson, readers and writers", redisson(redislock.RedissonReadWrite), locktest.Subject{NoWords: true, NoToken: true, Shared: true}},
		{"spring", spring(ttl), locktest.Subject{NoWords: true, NoToken: true, FixedLease: true}},
	}
}

func TestLaws(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			t.Run("embedded", func(t *testing.T) {
				t.Parallel()
				if k.subject.NoToken {
					need.Time(t, "to check the laws of other people's locks on the embedded server, too")
				}
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
	subject.TTL, subject.Slack, subject.Inspects = ttl, 5*time.Second, true // for a busy machine
	subject.Open = func(context.Context) (locktest.Client, error) {
		return open([]*redisproc.Server{s}, func(clients []redis.UniversalClient) (lock.Backend, error) { return k.backend(clients[0]) })
	}
	locktest.Run(t, subject)
}

// open connects a client to some servers, by links that can be cut.
func open(servers []*redisproc.Server, make func([]redis.UniversalClient) (lock.Backend, error)) (c locktest.Client, err error) {
	var (
		links   []*network.Link
		clients []redis.UniversalClient
	)
	c.Crash = func() {
		for _, link := range links {
			link.Tx.Shut()
			link.Rx.Shut()
		}
	}
	c.Wake = func() {
		for _, link := range links {
			link.Tx.Open()
			link.Rx.Open()
		}
	}
	c.Close = func() {
		for i, client := range clients {
			client.Close()
			links[i].Close()
		}
	}
	for _, s := range servers {
		link, err := network.New(s.Addr)
		if err != nil {
			return c, err
		}
		links = append(links, link)
		clients = append(clients, connect(link.Addr()))
	}
	c.Backend, err = make(clients)
	return c, err
}
