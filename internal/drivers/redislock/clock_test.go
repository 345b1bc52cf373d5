package redislock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// TestClockTokensOutliveTheCounter: whatever is lost, the next token is higher. Without the option
// it is 1.
func TestClockTokensOutliveTheCounter(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		for _, kind := range [][]redislock.Option{nil, {redislock.Fair()}} {
			a := join(t, s, own(long, append(kind, redislock.ClockTokens())...))
			plain := join(t, s, own(long, kind...))
			var last fence.Token
			for _, lose := range []func() error{
				func() error { return nil },
				func() error { return a.client.Del(t.Context(), grants).Err() },
				func() error { return a.client.FlushAll(t.Context()).Err() },
			} {
				if err := lose(); err != nil {
					t.Fatal(err)
				}
				for _, take := range []func(context.Context, string) (lock.Tenure, error){a.TryLock, a.Backend.(lock.Sharer).TryRLock, plain.TryLock} {
					tenure := granted(t, take)
					if token := tenure.Grant().Token; token <= last {
						t.Errorf("token %d was granted after %d", token, last)
					}
					last = tenure.Grant().Token
					wantUnlock(t, tenure)
				}
			}
			if now := time.Now().UnixMicro(); int64(last) > now || int64(last) < now-time.Hour.Microseconds() {
				t.Errorf("the token is %d, want the time in µs, %d", last, now)
			}
			if err := a.client.Del(t.Context(), grants).Err(); err != nil {
				t.Fatal(err)
			}
			if token := plain.take(t).Grant().Token; token != 1 {
				t.Errorf("without the option the token is %d after a loss, want 1", token)
			}
			if err := a.client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestClockTokensAreAheadOfTheClock: where the counter is, because the clock was set back, it
// goes on by one.
func TestClockTokensAreAheadOfTheClock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long, redislock.ClockTokens()))
		for _, ahead := range []int64{time.Now().Add(time.Hour).UnixMicro(), 1 << 60} {
			if err := a.client.HSet(t.Context(), grants, "token", ahead).Err(); err != nil {
				t.Fatal(err)
			}
			tenure := a.take(t)
			if token := tenure.Grant().Token; token != fence.Token(ahead+1) {
				t.Errorf("the token is %d after %d", token, ahead)
			}
			wantUnlock(t, tenure)
		}
	})
}

// TestCounterIsRaisedByHand: after a loss, by the command of docs/redis/13-failover.md.
func TestCounterIsRaisedByHand(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a := join(t, s, own(long))
		wantUnlock(t, a.take(t))
		if err := a.client.HIncrBy(t.Context(), grants, "token", 5000).Err(); err != nil {
			t.Fatal(err)
		}
		if token := a.take(t).Grant().Token; token != 5002 {
			t.Errorf("the token is %d, want 5002", token)
		}
	})
}

// TestClockTokensIsForNewAlone: the counters of others are theirs.
func TestClockTokensIsForNewAlone(t *testing.T) {
	var clients []redis.UniversalClient
	for _, addr := range []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"} {
		client := connect(addr)
		defer client.Close()
		clients = append(clients, client)
	}
	_, fenced := redislock.RedissonFenced(clients[0], long, redislock.ClockTokens())
	_, quorum := redislock.Quorum(clients, long, redislock.ClockTokens())
	for _, err := range []error{fenced, quorum} {
		if err == nil || !strings.Contains(err.Error(), "ClockTokens is for New alone") || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("got %v", err)
		}
	}
}
