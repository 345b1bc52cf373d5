package redislock_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// dialed counts the connections of a client that are open, and how many there were at most.
type dialed struct{ open, most atomic.Int64 }

func (d *dialed) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n := d.open.Add(1)
	for most := d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); {
		most = d.most.Load()
	}
	return &counted{Conn: conn, of: d}, nil
}

type counted struct {
	net.Conn
	of     *dialed
	closed atomic.Bool
}

func (c *counted) Close() error {
	if !c.closed.Swap(true) {
		c.of.open.Add(-1)
	}
	return c.Conn.Close()
}

// TestWaitersOfManyLocksShareAConnection, and each is woken when its lock is free: the leases
// would last for a minute. A lock that was waited for before is waited for again.
func TestWaitersOfManyLocksShareAConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		const locks, pool = 50, 4
		var count dialed
		client := redis.NewClient(&redis.Options{Addr: s.Addr, Dialer: count.dial, PoolSize: pool, MaxRetries: -1})
		t.Cleanup(func() { client.Close() })
		b, err := redislock.New(client, long)
		if err != nil {
			t.Fatal(err)
		}
		a := join(t, s, own(long))
		in := func(n int) func(context.Context, string) (lock.Tenure, error) {
			return func(ctx context.Context, scope string) (lock.Tenure, error) {
				return b.Lock(ctx, fmt.Sprint(scope, n))
			}
		}
		for range 2 {
			var holders []lock.Tenure
			var waiting []<-chan result
			for n := range locks {
				holder, err := a.Lock(t.Context(), fmt.Sprint(scope, n))
				if err != nil {
					t.Fatal(err)
				}
				endWith(t, holder)
				holders = append(holders, holder)
				waiting = append(waiting, inBackground(t.Context(), in(n)))
			}
			for n := range locks {
				a.listeners(t, fmt.Sprintf("lock:{/lock%d}:free", n), 1)
			}
			for n, holder := range holders {
				wantUnlock(t, holder)
				next := wantGrant(t, waiting[n])
				a.listeners(t, fmt.Sprintf("lock:{/lock%d}:free", n), 0)
				wantUnlock(t, next)
			}
		}
		if most := count.most.Load(); most > pool+1 {
			t.Errorf("there were %d connections at a time, want %d for requests and one for messages", most, pool)
		}
	})
}

// TestWaitersOutliveTheirConnection: the connection for messages breaks, and the next one has
// the channels of all who wait.
func TestWaitersOutliveTheirConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		link, err := network.New(s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(link.Close)
		client := redis.NewClient(&redis.Options{Addr: link.Addr()}) // which sends a request again
		t.Cleanup(func() { client.Close() })
		b, err := redislock.New(client, long)
		if err != nil {
			t.Fatal(err)
		}
		a := join(t, s, own(long))
		var holders [3]lock.Tenure
		var waiting [3]<-chan result
		for n := range holders {
			name := fmt.Sprint(scope, n)
			if holders[n], err = a.Lock(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			waiting[n] = inBackground(t.Context(), func(ctx context.Context, _ string) (lock.Tenure, error) { return b.Lock(ctx, name) })
			a.listeners(t, fmt.Sprintf("lock:{%s}:free", name), 1)
		}
		link.Cut()
		for n, holder := range holders {
			a.listeners(t, fmt.Sprintf("lock:{/lock%d}:free", n), 1)
			wantUnlock(t, holder)
			wantUnlock(t, wantGrant(t, waiting[n]))
		}
	})
}
