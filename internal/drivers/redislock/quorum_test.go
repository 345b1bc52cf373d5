package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// nodes are servers that know nothing of each other.
func nodes(t *testing.T, server func(*testing.T) *redisproc.Server, n int) []*redisproc.Server {
	var all []*redisproc.Server
	for range n {
		all = append(all, server(t))
	}
	return all
}

// insistent tries again where no majority has answered: on a busy machine that may take longer than
// a tenth of the TTL.
type insistent struct{ *redislock.Exclusive }

func (i insistent) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	for {
		t, err := i.Exclusive.TryLock(ctx, scope)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), " nodes answered") {
			return t, err
		}
	}
}

func TestQuorumLaws(t *testing.T) {
	t.Parallel()
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "embedded" {
				need.Night(t, "to check all laws on embedded servers, too")
			}
			all := nodes(t, server, 3)
			locktest.Run(t, locktest.Subject{
				Open: func(context.Context) (locktest.Client, error) {
					return open(all, func(clients []redis.UniversalClient) (lock.Backend, error) {
						q, err := redislock.Quorum(clients, 3*ttl)
						return insistent{q}, err
					})
				},
				// A minority forgets all.
				Restart: func(ctx context.Context) error {
					return errors.Join(all[0].Process().Kill(), all[0].Restart(ctx))
				},
				TTL: 3 * ttl, Slack: 3 * time.Second, NoToken: true, FixedLease: true, Inspects: true,
			})
		})
	}
}

func TestQuorumWantsAMajority(t *testing.T) {
	for _, tt := range []struct {
		nodes int
		ttl   time.Duration
		some  []redislock.Option
	}{
		{2, long, nil}, {0, long, nil}, {3, 99 * time.Millisecond, nil}, {3, long + time.Microsecond, nil}, {3, long, []redislock.Option{redislock.Fair()}},
	} {
		clients := make([]redis.UniversalClient, tt.nodes)
		for i := range clients {
			client := connect(fmt.Sprint("127.0.0.1:", i+1))
			defer client.Close()
			clients[i] = client
		}
		if _, err := redislock.Quorum(clients, tt.ttl, tt.some...); fence.OutcomeOf(err) != fence.Definite || err == nil {
			t.Errorf("%d nodes and a TTL of %v: %v, want an error", tt.nodes, tt.ttl, err)
		}
	}
}

// quorum is a party of several nodes.
type quorum struct {
	party
	clients []*redis.Client
}

func joinAll(t *testing.T, servers []*redisproc.Server, ttl time.Duration) quorum {
	t.Helper()
	var (
		clients []*redis.Client
		all     []redis.UniversalClient
	)
	for _, s := range servers {
		client := connect(s.Addr)
		t.Cleanup(func() { client.Close() })
		clients, all = append(clients, client), append(all, client)
	}
	b, err := redislock.Quorum(all, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return quorum{party{b, clients[0]}, clients}
}

// has is how many nodes have the lock of an owner, or of anybody: "".
func (q quorum) has(t *testing.T, owner string) (n int) {
	t.Helper()
	for _, client := range q.clients {
		if holder, err := client.Get(t.Context(), scope).Result(); err == nil && (owner == "" || holder == owner) {
			n++
		}
	}
	return n
}

// forget has some nodes lose all.
func (q quorum) forget(t *testing.T, n int) {
	t.Helper()
	for _, client := range q.clients[:n] {
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMinorityIsDown: all is well, also where the node is down that wakes those who wait.
func TestMinorityIsDown(t *testing.T) {
	t.Parallel()
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := nodes(t, server, 5)
			a, b := joinAll(t, all, long), joinAll(t, all, long)
			holder := a.take(t)
			waiting := inBackground(t.Context(), b.Lock)
			for _, s := range all[:2] {
				if err := s.Process().Kill(); err != nil {
					t.Fatal(err)
				}
			}
			wantLocked(t, b.TryLock)
			wantUnlock(t, holder)
			next := wantGrant(t, waiting)
			if n := b.has(t, next.Grant().Owner); n != 3 {
				t.Errorf("%d nodes have the lock, want the 3 that live", n)
			}
			wantUnlock(t, next)

			if err := all[2].Process().Kill(); err != nil {
				t.Fatal(err)
			}
			_, err := b.TryLock(t.Context(), scope)
			if unknown := new(lock.UnknownError); !errors.As(err, &unknown) || errors.Is(err, lock.ErrLocked) {
				t.Errorf("without a majority TryLock returned %v, want an UnknownError", err)
			}
			if n := b.has(t, ""); n != 0 {
				t.Errorf("%d nodes have a lock that was not granted", n)
			}
		})
	}
}

// TestLockWaitsForAMajority, which is not there at first.
func TestLockWaitsForAMajority(t *testing.T) {
	t.Parallel()
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := nodes(t, server, 3)
			a := joinAll(t, all, 10*ttl)
			for _, s := range all[:2] {
				if err := s.Process().Pause(); err != nil {
					t.Fatal(err)
				}
			}
			failed := make(chan struct{}, 100)
			a.clients[0].AddHook(hook(func(send func() error) error {
				err := send()
				if err != nil {
					failed <- struct{}{}
				}
				return err
			}))
			waiting := inBackground(t.Context(), a.Lock)
			<-failed
			for _, s := range all[:2] {
				if err := s.Process().Resume(); err != nil {
					t.Fatal(err)
				}
			}
			wantUnlock(t, wantGrant(t, waiting))

			for _, s := range all {
				if err := s.Process().Kill(); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), ttl)
			defer cancel()
			_, err := a.Lock(ctx, scope)
			if unknown := new(lock.UnknownError); !errors.As(err, &unknown) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Lock without any node returned %v, want an UnknownError, and that its context is done", err)
			}
		})
	}
}

// TestAttemptIsTakenBack on all nodes, also on one whose answer was lost.
func TestAttemptIsTakenBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		all := append(nodes(t, redistest.Embedded, 2), s)
		a := joinAll(t, all, long)
		for _, client := range a.clients[1:] {
			if err := client.Set(t.Context(), scope, "another", long).Err(); err != nil {
				t.Fatal(err)
			}
		}
		wantLocked(t, a.TryLock) // and the nodes know the scripts
		if n := a.has(t, "another"); n != 2 || a.has(t, "") != 2 {
			t.Errorf("%d nodes have the lock of another, of %d that are taken, want 2 of 2", n, a.has(t, ""))
		}
		lost := true
		a.clients[0].AddHook(hook(func(send func() error) error {
			if lost {
				lost = false
				return unanswered(send)
			}
			return send()
		}))
		wantLocked(t, a.TryLock)
		if n := a.has(t, ""); n != 2 {
			t.Errorf("%d nodes are taken, want those of another", n)
		}
	})
}

// TestValidityTime is less than the TTL, by the drift.
func TestValidityTime(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := joinAll(t, append(nodes(t, redistest.Embedded, 2), s), long)
		before := time.Now()
		lease := a.take(t).(*redislock.Lease)
		after := time.Now()
		valid := long - long/100 - 2*time.Millisecond
		if until := lease.Until(); until.Before(before.Add(valid)) || until.After(after.Add(valid)) {
			t.Errorf("asked between %v and %v, and valid until %v, want %v after it was asked", before, after, until, valid)
		}
	})
}

// TestMajorityDecides whether a lock is extended, and whether it was freed.
func TestMajorityDecides(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := joinAll(t, append(nodes(t, redistest.Embedded, 2), s), long)
		for forgot, want := range map[int]error{1: nil, 2: lock.ErrLost} {
			lease := a.take(t).(*redislock.Lease)
			a.forget(t, forgot)
			if err := lease.Extend(t.Context(), long); !errors.Is(err, want) {
				t.Errorf("%d of 3 nodes forgot, and Extend returned %v, want %v", forgot, err, want)
			}
			if err := lease.Unlock(t.Context()); !errors.Is(err, want) {
				t.Errorf("%d of 3 nodes forgot, and Unlock returned %v, want %v", forgot, err, want)
			}
			a.forget(t, 3)
		}
	})
}
