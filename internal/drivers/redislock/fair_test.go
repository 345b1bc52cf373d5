package redislock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

const (
	queue  = key + ":queue"
	places = key + ":places"
)

func inOrder(ttl time.Duration) func(redis.UniversalClient) (lock.Backend, error) {
	return own(ttl, redislock.Fair())
}

// queued returns when so many wait.
func (p party) queued(t *testing.T, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
	defer cancel()
	for {
		n, err := p.client.LLen(ctx, queue).Result()
		if err != nil {
			t.Fatal(err)
		}
		if n == want {
			return
		}
	}
}

// TestOrder: each gets the lock in its turn, and nobody overtakes.
func TestOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, inOrder(long)), join(t, s, inOrder(long))
		holder := a.take(t)
		var waiting []<-chan result
		for n := range 4 {
			waiting = append(waiting, inBackground(t.Context(), []party{a, b}[n%2].Lock))
			a.queued(t, int64(n+1))
		}
		for _, next := range waiting {
			wantUnlock(t, holder)
			wantLocked(t, b.TryLock)
			holder = wantGrant(t, next)
		}
		wantUnlock(t, holder)
		wantUnlock(t, granted(t, b.TryLock))
		if keys := a.client.Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{grants}) {
			t.Errorf("there are %q, want the counter alone", keys)
		}
	})
}

// TestReadersNextToEachOther get the lock together; those behind a writer wait for it.
func TestReadersNextToEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, inOrder(long))
		sharer := a.Backend.(lock.Sharer)
		holder := a.take(t)
		var waiting []<-chan result
		for n, take := range []func(context.Context, string) (lock.Tenure, error){sharer.RLock, sharer.RLock, a.Lock, sharer.RLock} {
			waiting = append(waiting, inBackground(t.Context(), take))
			a.queued(t, int64(n+1))
		}
		wantUnlock(t, holder)
		first, second := wantGrant(t, waiting[0]), wantGrant(t, waiting[1])
		wantLocked(t, sharer.TryRLock)
		a.queued(t, 2)
		wantUnlock(t, first)
		wantUnlock(t, second)
		wantUnlock(t, wantGrant(t, waiting[2]))
		wantUnlock(t, wantGrant(t, waiting[3]))
	})
}

// TestPlaceOfADeadWaiter goes when it times out, by Redis's clock.
func TestPlaceOfADeadWaiter(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, inOrder(long))
		holder := a.take(t)
		now, err := a.client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(
			a.client.RPush(t.Context(), queue, "exclusive:dead").Err(),
			a.client.ZAdd(t.Context(), places, redis.Z{Score: float64(now.Add(ttl).UnixMilli()), Member: "exclusive:dead"}).Err())
		if err != nil {
			t.Fatal(err)
		}
		waiting := inBackground(t.Context(), a.Lock)
		a.queued(t, 2)
		wantUnlock(t, holder)
		next := wantGrant(t, waiting)
		if granted, err := a.client.Time(t.Context()).Result(); err != nil || granted.Before(now.Add(ttl).Truncate(time.Millisecond)) {
			t.Errorf("the lock was granted at %v, %v, and the place was the dead one's until %v", granted, err, now.Add(ttl))
		}
		wantUnlock(t, next)
	})
}

// TestPlaceIsKept: who waits for longer than the TTL has it still.
func TestPlaceIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, inOrder(long)), join(t, s, inOrder(ttl))
		holder := a.take(t)
		waiting := inBackground(t.Context(), b.Lock)
		a.queued(t, 1)
		place := func() float64 {
			all, err := a.client.ZRangeWithScores(t.Context(), places, 0, -1).Result()
			if err != nil || len(all) != 1 {
				t.Fatalf("the places are %v, %v, want one", all, err)
			}
			return all[0].Score
		}
		for first := place(); place() < first+2000; { // ms; b's TTL is over twice
		}
		a.queued(t, 1)
		wantUnlock(t, holder)
		wantGrant(t, waiting)
	})
}

// TestWaiterThatGivesUp leaves no place, and does not hold up those behind it.
func TestWaiterThatGivesUp(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, inOrder(long)), join(t, s, inOrder(long))
		for range 20 {
			holder := a.take(t)
			ctx, cancel := context.WithCancel(t.Context())
			first := inBackground(ctx, b.Lock)
			a.queued(t, 1)
			second := inBackground(t.Context(), b.Lock)
			a.queued(t, 2)
			go cancel()
			wantUnlock(t, holder)
			r := <-first
			if unknown := new(lock.UnknownError); errors.As(r.err, &unknown) {
				t.Error(r.err)
			} else if r.err == nil {
				wantUnlock(t, r.tenure)
			}
			wantUnlock(t, wantGrant(t, second))
			a.queued(t, 0)
		}
	})
}

// TestFairAndNot exclude each other, and wake each other.
func TestFairAndNot(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		for name, make := range map[string][2]func(redis.UniversalClient) (lock.Backend, error){
			"fair waits": {own(long), inOrder(long)}, "fair holds": {inOrder(long), own(long)},
		} {
			t.Run(name, func(t *testing.T) {
				a, b := join(t, s, make[0]), join(t, s, make[1])
				holder := a.take(t)
				wantLocked(t, b.TryLock)
				waiting := inBackground(t.Context(), b.Lock)
				a.listeners(t, channel, 1)
				wantUnlock(t, holder)
				wantUnlock(t, wantGrant(t, waiting))
				a.listeners(t, channel, 0)
			})
		}
	})
}
