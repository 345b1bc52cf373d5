package attempt_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

const lease = 30 * time.Second

type renewing func(context.Context, time.Duration) (held bool, err error)

// kept begins a life with a lease that is renewed so, and fixed one with a lease that nobody renews.
func kept(life *attempt.Life, renew renewing)  { begin(life, life.Keep, renew) }
func fixed(life *attempt.Life, renew renewing) { begin(life, life.Fixed, renew) }

func begin(life *attempt.Life, with func(until time.Time, r attempt.Renewal), renew renewing) {
	life.Begin(context.Background())
	with(time.Now().Add(lease), attempt.Renewal{Package: "package", Scope: "/lock", TTL: lease, Renew: renew})
}

// TestExtend: renewals make the lease no shorter, and a silence ends it when it is over, and not before.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var life attempt.Life
		var mu sync.Mutex
		silent := false
		var ends []time.Duration // of the leases that were asked for
		kept(&life, func(ctx context.Context, d time.Duration) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if silent {
				<-ctx.Done()
				return false, ctx.Err()
			}
			ends = append(ends, time.Since(began)+d)
			return true, nil
		})
		time.Sleep(5 * time.Second)
		if err := life.Extend(t.Context(), 100*time.Second); err != nil {
			t.Fatal(err)
		}
		if err := life.Extend(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second) // renewals after 10 and 20 s
		mu.Lock()
		silent = true
		for i, end := range ends {
			if end != 105*time.Second {
				t.Errorf("lease %d of %v ends after %v, want 1m45s", i+1, ends, end)
			}
		}
		if len(ends) != 4 {
			t.Errorf("%d requests, want 4", len(ends))
		}
		mu.Unlock()
		<-life.Done()
		if took := time.Since(began); took != 105*time.Second || life.Err() != lock.ErrCutOff {
			t.Errorf("the life ends after %v with %v, want 1m45s and ErrCutOff", took, life.Err())
		}
	})
}

// TestExtendSays: each end of Extend has its error and its outcome.
func TestExtendSays(t *testing.T) {
	broken := errors.New("the connection was broken")
	for name, test := range map[string]struct {
		d       time.Duration
		held    bool
		err     error
		before  func(*attempt.Life)
		want    error
		outcome fence.Outcome
		life    error
	}{
		"held":             {d: lease, held: true, outcome: fence.Definite},
		"lost":             {d: lease, want: lock.ErrLost, outcome: fence.Lost, life: lock.ErrLost},
		"no answer":        {d: lease, err: broken, want: broken, outcome: fence.Unknown},
		"refused":          {d: lease, err: fence.Definite.Wrap(broken), want: broken, outcome: fence.Definite},
		"no TTL":           {d: time.Microsecond, outcome: fence.Definite},
		"after the unlock": {d: lease, held: true, before: (*attempt.Life).Release, want: lock.ErrLost, outcome: fence.Lost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var life attempt.Life
				kept(&life, func(context.Context, time.Duration) (bool, error) { return test.held, test.err })
				if test.before != nil {
					test.before(&life)
				}
				err := life.Extend(t.Context(), test.d)
				if failed := test.want != nil || name == "no TTL"; failed != (err != nil) || !errors.Is(err, test.want) && test.want != nil || fence.OutcomeOf(err) != test.outcome {
					t.Errorf("got %v, %v, want %v, %v", err, fence.OutcomeOf(err), test.want, test.outcome)
				}
				if life.Err() != test.life {
					t.Errorf("the life ended with %v, want %v", life.Err(), test.life)
				}
				life.Release()
			})
		})
	}
}

// TestExtendTakesTurns: a request waits until the one before it was answered, or its context is done. Renewals end the life in
// time, though an extension has no answer.
func TestExtendTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var life attempt.Life
		under := 0
		kept(&life, func(ctx context.Context, _ time.Duration) (bool, error) {
			if under++; under > 1 {
				t.Error("two requests are under way")
			}
			defer func() { under-- }()
			<-ctx.Done()
			return false, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go life.Extend(ctx, time.Minute)
		synctest.Wait()
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := life.Extend(soon, time.Minute); !errors.Is(err, context.DeadlineExceeded) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("while another extension is under way: %v, %v, want the context's error, definite", err, fence.OutcomeOf(err))
		}
		<-life.Done()
		if took := time.Since(began); took != lease {
			t.Errorf("the life ends after %v, want %v", took, lease)
		}
	})
}
