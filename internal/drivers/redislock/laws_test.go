package redislock_test

import (
	"context"
	"net"
	"sync"
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
					need.Night(t, "to check the laws of other people's locks on the embedded server, too")
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

func laws(t *testing.T, s *redisproc.Server, k kind) { lawsBy(t, k, single(s)) }

// lawsBy checks the laws of a kind by clients of one sort.
func lawsBy(t *testing.T, k kind, connect sort) {
	subject := k.subject
	subject.TTL, subject.Slack, subject.Inspects = ttl, 5*time.Second, true // for a busy machine
	subject.Open = func(context.Context) (locktest.Client, error) {
		return openBy([]sort{connect}, func(clients []redis.UniversalClient) (lock.Backend, error) { return k.backend(clients[0]) })
	}
	locktest.Run(t, subject)
}

// dialer makes the connections of a client.
type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// sort makes a client whose connections are made by a dialer.
type sort func(dialer) redis.UniversalClient

// single is a client of one server.
func single(s *redisproc.Server) sort {
	return func(dial dialer) redis.UniversalClient {
		options := options(s.Addr)
		options.Dialer = dial
		return redis.NewClient(options)
	}
}

// wires are the connections of a client, by links that can be cut.
type wires struct {
	mu    sync.Mutex
	links map[string]*network.Link // by the address to which they lead; nil: the client is closed
	shut  bool
}

func (w *wires) dial(ctx context.Context, kind, addr string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.links == nil { // a client can dial in the background
		return nil, net.ErrClosed
	}
	link := w.links[addr]
	if link == nil {
		var err error
		if link, err = network.New(addr); err != nil {
			return nil, err
		}
		w.links[addr] = link
		if w.shut {
			link.Tx.Shut()
		}
	}
	return new(net.Dialer).DialContext(ctx, kind, link.Addr())
}

// each does something to all links, and notes whether they are shut from now on.
func (w *wires) each(shut bool, do func(*network.Link)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = shut
	for _, link := range w.links {
		do(link)
	}
}

func (w *wires) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, link := range w.links {
		link.Close()
	}
	w.links = nil
}

// open connects a client to some servers, by links that can be cut.
func open(servers []*redisproc.Server, make func([]redis.UniversalClient) (lock.Backend, error)) (c locktest.Client, err error) {
	var sorts []sort
	for _, s := range servers {
		sorts = append(sorts, single(s))
	}
	return openBy(sorts, make)
}

// openBy is open with clients of some sorts.
func openBy(sorts []sort, make func([]redis.UniversalClient) (lock.Backend, error)) (c locktest.Client, err error) {
	w := &wires{links: map[string]*network.Link{}}
	var clients []redis.UniversalClient
	for _, connect := range sorts {
		clients = append(clients, connect(w.dial))
	}
	c.Crash = func() {
		w.each(true, func(link *network.Link) {
			link.Tx.Shut()
			link.Rx.Shut()
		})
	}
	c.Wake = func() {
		w.each(false, func(link *network.Link) {
			link.Tx.Open()
			link.Rx.Open()
		})
	}
	c.Close = func() {
		for _, client := range clients {
			client.Close()
		}
		w.close()
	}
	c.Backend, err = make(clients)
	return c, err
}
