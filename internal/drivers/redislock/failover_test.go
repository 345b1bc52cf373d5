package redislock_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// pair is a master and its replica. Clients find the one that is the master, as by Sentinel.
type pair struct {
	master, replica *redisproc.Server
	addr            atomic.Pointer[string]
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{master: redistest.Real(t, redisproc.Settings(t.TempDir(), "none")...)}
	host, port, err := net.SplitHostPort(p.master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	p.replica = redistest.Real(t, append(redisproc.Settings(t.TempDir(), "none"), "--replicaof", host+" "+port)...)
	p.addr.Store(&p.master.Addr)
	return p
}

func (p *pair) join(t *testing.T, make func(redis.UniversalClient) (lock.Backend, error)) party {
	t.Helper()
	client := redis.NewClient(&redis.Options{Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, *p.addr.Load())
	}})
	t.Cleanup(func() { client.Close() })
	b, err := make(client)
	if err != nil {
		t.Fatal(err)
	}
	return party{b, client}
}

// caughtUp returns when the replica has all that the master has.
func (p *pair) caughtUp(t *testing.T, client *redis.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
	defer cancel()
	for n := int64(0); n == 0; {
		// WAIT is about what its own connection has written.
		if err := client.Watch(ctx, func(tx *redis.Tx) (err error) {
			if err = tx.Set(ctx, "written", 1, 0).Err(); err == nil {
				n, err = tx.Wait(ctx, 1, time.Second).Result()
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// cut breaks the link of the replica, which asks where nobody listens.
func (p *pair) cut(t *testing.T) {
	t.Helper()
	if err := redistest.Connect(t, p.replica).ReplicaOf(t.Context(), "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
}

// failOver kills the master, and makes the replica the master.
func (p *pair) failOver(t *testing.T) {
	t.Helper()
	next := redistest.Connect(t, p.replica)
	if err := errors.Join(p.master.Process().Kill(), next.ReplicaOf(t.Context(), "NO", "ONE").Err()); err != nil {
		t.Fatal(err)
	}
	p.addr.Store(&p.replica.Addr)
}

// TestFailover: a tenure that has reached the replica goes on there, and a waiter waits there.
// The holder of another one is told, and tokens go back, unless they are those of the clock.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		reached, grow bool
		some          []redislock.Option
	}{
		{"the replica has it", true, true, nil},
		{"the replica does not have it", false, false, nil},
		{"the replica does not have it, clock tokens", false, true, []redislock.Option{redislock.ClockTokens()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			a, b := p.join(t, own(renewed, c.some...)), p.join(t, own(renewed, c.some...))
			wantUnlock(t, a.take(t))
			p.caughtUp(t, a.client)
			if !c.reached {
				p.cut(t)
				wantUnlock(t, a.take(t))
			}
			holder := a.take(t)
			if c.reached {
				p.caughtUp(t, a.client)
			}
			p.failOver(t)
			if c.reached {
				waiting := inBackground(t.Context(), b.Lock)
				b.listeners(t, channel, 1)
				wantUnlock(t, holder)
				wantUnlock(t, wantGrant(t, waiting))
			} else {
				wantEnd(t, holder, lock.ErrLost)
			}
			next := b.take(t).Grant().Token
			if grown := next > holder.Grant().Token; grown != c.grow {
				t.Errorf("after token %d the next one is %d; want a higher one: %v", holder.Grant().Token, next, c.grow)
			}
		})
	}
}
