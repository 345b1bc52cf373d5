package redislock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

const (
	key     = "lock:{/lock}"
	grants  = key + ":grants"
	channel = key + ":free"
)

// onBoth runs a test on a real server and on the embedded one, beside other tests.
func onBoth(t *testing.T, test func(*testing.T, *redisproc.Server)) {
	t.Parallel()
	for name, server := range redistest.Servers() {
		t.Run(name, func(t *testing.T) { test(t, server(t)) })
	}
}

// listeners returns when a channel has so many.
func (p party) listeners(t *testing.T, channel string, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
	defer cancel()
	for {
		n, err := p.client.PubSubNumSub(ctx, channel).Result()
		if err != nil {
			t.Fatal(err)
		}
		if n[channel] == want {
			return
		}
	}
}

func wantUnlock(t *testing.T, tenure lock.Tenure) {
	t.Helper()
	if err := tenure.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wantGrant(t *testing.T, c <-chan result) lock.Tenure {
	t.Helper()
	r := <-c
	if r.err != nil {
		t.Fatal(r.err)
	}
	endWith(t, r.tenure)
	return r.tenure
}

func wantLocked(t *testing.T, take func(context.Context, string) (lock.Tenure, error)) {
	t.Helper()
	if tenure, err := take(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("got %v, %v, want ErrLocked", tenure, err)
	}
}

func wantEnd(t *testing.T, tenure lock.Tenure, want error) {
	t.Helper()
	select {
	case <-tenure.Done():
		if err := tenure.Err(); !errors.Is(err, want) {
			t.Errorf("the tenure ended with %v, want %v", err, want)
		}
	case <-time.After(redistest.Deadline):
		t.Errorf("Done is open, want %v", want)
	}
}

func TestNewRejectsTTLsThatRedisWouldRound(t *testing.T) {
	for _, ttl := range []time.Duration{-time.Second, 0, time.Microsecond, 1500 * time.Microsecond} {
		if _, err := redislock.New(nil, ttl); err == nil {
			t.Errorf("New accepts a TTL of %v", ttl)
		}
	}
}

func TestScopeIsNotEmpty(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long))
		if _, err := a.TryLock(t.Context(), ""); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("got %v, want ErrInvalidScope", err)
		}
	})
}

// TestFormat: what others see of a lock.
func TestFormat(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long, redislock.Prefix("app:")))
		g := a.take(t).Grant()
		if holder := a.client.Get(t.Context(), "app:"+key).Val(); holder != g.Owner || g.Token != 1 {
			t.Errorf("%+v was granted, and the key has %q", g, holder)
		}
		if left := a.client.PTTL(t.Context(), "app:"+key).Val(); left <= 0 || left > long {
			t.Errorf("the lock lives for %v", left)
		}
		if left := a.client.PTTL(t.Context(), "app:"+grants).Val(); left != -1 {
			t.Errorf("the counter lives for %v, want for ever", left)
		}
	})
}

// TestTokenOf64Bits: Lua's numbers would confuse neighbours.
func TestTokenOf64Bits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long))
		if err := a.client.HSet(t.Context(), grants, "token", 1<<53).Err(); err != nil {
			t.Fatal(err)
		}
		if token := a.take(t).Grant().Token; token != 1<<53+1 {
			t.Errorf("the token is %d, want %d", token, 1<<53+1)
		}
	})
}

// TestWokenByTheChannel: the lease of the holder would end in a minute.
func TestWokenByTheChannel(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		holder := a.take(t)
		waiting := inBackground(t.Context(), b.Lock)
		a.listeners(t, channel, 1)
		wantUnlock(t, holder)
		wantUnlock(t, wantGrant(t, waiting))
		a.listeners(t, channel, 0)
	})
}

// TestWokenWithoutAMessage: the lock goes, and nobody tells.
func TestWokenWithoutAMessage(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(ttl)), join(t, s, own(long))
		a.take(t)
		waiting := inBackground(t.Context(), b.Lock)
		a.listeners(t, channel, 1)
		if err := a.client.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		wantGrant(t, waiting)
	})
}

// TestWaitersShareAConnection, and each gets its turn.
func TestWaitersShareAConnection(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		holder := a.take(t)
		var all []<-chan result
		for range 5 {
			all = append(all, inBackground(t.Context(), b.Lock))
		}
		a.listeners(t, channel, 1)
		wantUnlock(t, holder)
		turns := make(chan error)
		for _, one := range all {
			go func() {
				r := <-one
				if r.err == nil {
					r.err = r.tenure.Unlock(t.Context())
				}
				turns <- r.err
			}()
		}
		for range all {
			if err := <-turns; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestWakeUpIsPassedOn: the one that was woken gives up.
func TestWakeUpIsPassedOn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		for range 20 {
			holder := a.take(t)
			ctx, cancel := context.WithCancel(t.Context())
			first := inBackground(ctx, b.Lock)
			a.listeners(t, channel, 1)
			second := inBackground(t.Context(), b.Lock)
			go cancel()
			wantUnlock(t, holder)
			if r := <-first; r.err == nil {
				wantUnlock(t, r.tenure)
			}
			wantUnlock(t, wantGrant(t, second))
			a.listeners(t, channel, 0)
		}
	})
}

// TestCancelledLockLeavesNothing, and says so.
func TestCancelledLockLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		holder := a.take(t)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := inBackground(ctx, b.Lock)
		a.listeners(t, channel, 1)
		cancel()
		r := <-waiting
		if unknown := new(lock.UnknownError); !errors.Is(r.err, context.Canceled) || errors.As(r.err, &unknown) {
			t.Errorf("Lock returned %v, want that the context is cancelled, and nothing unknown", r.err)
		}
		wantUnlock(t, holder)
		if keys := a.client.Keys(t.Context(), "*").Val(); len(keys) != 1 || keys[0] != grants {
			t.Errorf("there are %q, want the counter alone", keys)
		}
		a.listeners(t, channel, 0)
	})
}

// TestCancelledLockWithoutAnAnswer is unknown, and the lock is given back when Redis
// answers.
func TestCancelledLockWithoutAnAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan struct{}, 100)
		release := make(chan struct{})
		a.client.AddHook(hook(func(send func() error) error {
			sent <- struct{}{}
			err := send()
			<-release
			return err
		}))
		waiting := inBackground(ctx, a.Lock)
		<-sent
		cancel()
		r := <-waiting
		unknown := new(lock.UnknownError)
		if !errors.As(r.err, &unknown) || !errors.Is(r.err, context.Canceled) || unknown.Op != "lock" || unknown.Scope != scope {
			t.Errorf("Lock returned %v, want an UnknownError of it, and that its context was cancelled", r.err)
		}
		close(release)
		wantUnlock(t, b.take(t))
	})
}

// TestLateAnswer: a lease that was over when the answer came is none, and a waiter asks
// again under another name, so that no two tenures share one.
func TestLateAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(ttl)), join(t, s, own(long))
		wantUnlock(t, b.take(t)) // Redis knows the script
		late, first := true, ""
		a.client.AddHook(hook(func(send func() error) error {
			if !late {
				return send()
			}
			late = false
			asked := time.Now()
			err := send()
			first = b.client.Get(t.Context(), key).Val()
			time.Sleep(time.Until(asked.Add(ttl))) // the answer takes as long as the lease
			return err
		}))
		if tenure, err := a.TryLock(t.Context(), scope); err == nil || !strings.Contains(err.Error(), "the lease was over") {
			t.Errorf("TryLock returned %v, %v, want that the lease was over", tenure, err)
		}
		late = true
		tenure := wantGrant(t, inBackground(t.Context(), a.Lock))
		if owner := tenure.Grant().Owner; first == "" || owner == first {
			t.Errorf("%q was granted the lock late, and %q again", first, owner)
		}
	})
}

// TestRequestsSentAgain: what was done before is known.
func TestRequestsSentAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long))
		a.client.AddHook(hook(twice))
		for want := range fence.Token(3) {
			tenure := a.take(t)
			if token := tenure.Grant().Token; token != want+1 {
				t.Errorf("the token is %d, want %d", token, want+1)
			}
			wantUnlock(t, tenure)
			if err := tenure.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("a second Unlock returned %v, want ErrLost", err)
			}
		}
	})
}

// TestRequestThatComesLate: its tenure is over, and it takes nothing.
func TestRequestThatComesLate(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		var again func() error
		a.client.AddHook(hook(func(send func() error) error {
			if again == nil {
				again = send
			}
			return send()
		}))
		for _, take := range []func(*testing.T) lock.Tenure{a.take, a.rlock} {
			wantUnlock(t, take(t)) // Redis knows the script
			again = nil
			wantUnlock(t, take(t))
			if err := again(); err != nil {
				t.Fatal(err)
			}
			wantUnlock(t, granted(t, b.TryLock))
		}
	})
}

// TestAnswerWithoutAToken is an error, and the lock is given back.
func TestAnswerWithoutAToken(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		wantUnlock(t, a.take(t)) // Redis knows the script
		forget := sync.OnceFunc(func() { b.client.Del(t.Context(), grants) })
		a.client.AddHook(hook(func(send func() error) error {
			_ = send()
			forget()
			return send()
		}))
		r := <-inBackground(t.Context(), a.Lock)
		if unknown := new(lock.UnknownError); r.err == nil || !strings.Contains(r.err.Error(), "this is no Redis") || errors.As(r.err, &unknown) {
			t.Errorf("Lock returned %v, want what the script said, and nothing unknown", r.err)
		}
		wantUnlock(t, granted(t, b.TryLock))
	})
}

// TestAnswersLost: a lock whose answer is lost is given back, and an unlock is unknown.
func TestAnswersLost(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(long)), join(t, s, own(long))
		wantUnlock(t, b.take(t)) // Redis knows the scripts
		lost := true
		a.client.AddHook(hook(func(send func() error) error {
			if lost {
				lost = false
				return unanswered(send)
			}
			return send()
		}))
		_, err := a.Lock(t.Context(), scope)
		if unknown := new(lock.UnknownError); err == nil || !errors.Is(err, errReset) || errors.As(err, &unknown) {
			t.Errorf("Lock returned %v, want why its answer was lost, and nothing unknown: the lock was given back", err)
		}
		wantUnlock(t, b.take(t))

		tenure := a.take(t)
		lost = true
		err = tenure.Unlock(t.Context())
		unknown := new(lock.UnknownError)
		if !errors.As(err, &unknown) || !errors.Is(err, errReset) || unknown.Op != "unlock" || unknown.Scope != scope {
			t.Errorf("Unlock returned %v, want an UnknownError with its cause", err)
		}
		b.take(t)
		if err := tenure.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("a second Unlock returned %v, want ErrLost", err)
		}
		wantLocked(t, a.TryLock)
	})
}

// TestRefusal: what Redis itself refuses is definite.
func TestRefusal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long))
		if err := a.client.HSet(t.Context(), grants, "token", "x").Err(); err != nil {
			t.Fatal(err)
		}
		_, err := a.Lock(t.Context(), scope)
		said := redis.Error(nil)
		if unknown := new(lock.UnknownError); !errors.As(err, &said) || errors.As(err, &unknown) || !strings.Contains(err.Error(), "not an integer") {
			t.Errorf("Lock returned %v, want what Redis said, and nothing unknown", err)
		}
		if n := a.client.Exists(t.Context(), key).Val(); n != 0 {
			t.Error("the lock is taken")
		}
	})
}

// TestLossIsTold: a renewal sees it, and does not take the lock again.
func TestLossIsTold(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(renewed)), join(t, s, own(long))
		for name, lose := range map[string]func() error{
			"another's": func() error { return a.client.Set(t.Context(), key, "another", long).Err() },
			"gone":      func() error { return a.client.Del(t.Context(), key).Err() },
		} {
			t.Run(name, func(t *testing.T) {
				tenure := a.take(t)
				if err := lose(); err != nil {
					t.Fatal(err)
				}
				wantEnd(t, tenure, lock.ErrLost)
				if holder := a.client.Get(t.Context(), key).Val(); holder == tenure.Grant().Owner {
					t.Error("the lock was taken again")
				}
				if err := errors.Join(a.client.Del(t.Context(), key).Err()); err != nil {
					t.Fatal(err)
				}
				wantUnlock(t, b.take(t))
			})
		}
	})
}

// TestClosedClient: its tenures are cut off at the next renewal, and it is not asked again.
func TestClosedClient(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(3*ttl))
		tenure := a.take(t)
		var asked atomic.Int64
		a.client.AddHook(hook(func(send func() error) error {
			asked.Add(1)
			return send()
		}))
		a.client.Close()
		wantEnd(t, tenure, lock.ErrCutOff)
		if n := asked.Load(); n != 1 {
			t.Errorf("a client that is closed was asked %d times, want once", n)
		}
	})
}
