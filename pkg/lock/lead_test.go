package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestLeadStandsAgain: after each end of a term that is a loss, with a higher token, while f
// runs once at a time; and the end of ctx ends it.
func TestLeadStandsAgain(t *testing.T) {
	stale := &fence.StaleError{Scope: scope, Token: 1, Mark: 2}
	for name, end := range map[string]func(context.Context, *locktest.Memory, locktest.Client, lock.Grant) error{
		"lost, and f says nothing": func(ctx context.Context, m *locktest.Memory, _ locktest.Client, g lock.Grant) error {
			m.Revoke(g)
			<-ctx.Done()
			return nil
		},
		"lost, and f fails": func(ctx context.Context, m *locktest.Memory, _ locktest.Client, g lock.Grant) error {
			m.Revoke(g)
			<-ctx.Done()
			return ctx.Err()
		},
		"lost, and f does not know": func(_ context.Context, m *locktest.Memory, _ locktest.Client, g lock.Grant) error {
			m.Revoke(g)
			return nil
		},
		"cut off": func(ctx context.Context, _ *locktest.Memory, c locktest.Client, _ lock.Grant) error {
			c.Crash()
			<-ctx.Done()
			time.AfterFunc(time.Minute, c.Wake)
			return nil
		},
		"refused by the resource": func(context.Context, *locktest.Memory, locktest.Client, lock.Grant) error { return stale },
		"stepped down":            func(context.Context, *locktest.Memory, locktest.Client, lock.Grant) error { return lock.ErrStepDown },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *locktest.Memory) {
				ctx, cancel := context.WithCancel(t.Context())
				c := m.Open()
				var tokens []fence.Token
				leading := false
				err := lock.Lead(ctx, c, scope, func(ctx context.Context, g lock.Grant) error {
					if leading {
						t.Error("two terms overlap")
					}
					leading = true
					defer func() { leading = false }()
					wantHeld(t, m)
					tokens = append(tokens, g.Token)
					if len(tokens) == 3 {
						cancel()
						<-ctx.Done()
						return ctx.Err()
					}
					return end(ctx, m, c, g)
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("Lead returned %v, want that it was cancelled", err)
				}
				if len(tokens) != 3 || tokens[0] >= tokens[1] || tokens[1] >= tokens[2] {
					t.Errorf("the terms had the tokens %v", tokens)
				}
				wantFree(t, m)
			})
		})
	}
}

func TestLeadEndsWithItsWork(t *testing.T) {
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		bubble(t, func(t *testing.T, m *locktest.Memory) {
			terms := 0
			err := lock.Lead(t.Context(), m.Open(), scope, func(context.Context, lock.Grant) error {
				terms++
				return want
			})
			if !errors.Is(err, want) || want == nil && err != nil || terms != 1 {
				t.Errorf("f returned %v: Lead returned %v after %d terms", want, err, terms)
			}
			wantFree(t, m)
		})
	}
}

// TestLeadStepsDownForAnother: a candidate that waits leads before the one that stepped down
// does so again.
func TestLeadStepsDownForAnother(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		var leaders []string
		lead := func(name string) error {
			return lock.Lead(t.Context(), m.Open(), scope, func(context.Context, lock.Grant) error {
				time.Sleep(time.Second) // of fake time: until the other one waits, or is done
				leaders = append(leaders, name)
				if len(leaders) > 3 {
					return nil
				}
				return lock.ErrStepDown
			})
		}
		other := make(chan error, 1)
		go func() { other <- lead("b") }()
		if err := errors.Join(lead("a"), <-other); err != nil {
			t.Error(err)
		}
		if len(leaders) != 5 || slices.Contains([]bool{leaders[0] != leaders[1], leaders[1] != leaders[2], leaders[2] != leaders[3]}, false) {
			t.Errorf("the leaders were %q, want each after the other", leaders)
		}
	})
}

// failing is a backend whose attempts fail, one after the other, with the given errors.
type failing struct {
	lock.Backend
	errs []error
	at   []time.Time // of all attempts
}

func (b *failing) attempt(ctx context.Context, scope string, then func(context.Context, string) (lock.Tenure, error)) (lock.Tenure, error) {
	b.at = append(b.at, time.Now())
	if n := len(b.at); n <= len(b.errs) {
		return nil, b.errs[n-1]
	}
	return then(ctx, scope)
}

func (b *failing) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, b.Backend.Lock)
}

func (b *failing) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, b.Backend.TryLock)
}

// pauses are the times between the attempts.
func (b *failing) pauses() (pauses []time.Duration) {
	for i := range len(b.at) - 1 {
		pauses = append(pauses, b.at[i+1].Sub(b.at[i]))
	}
	return pauses
}

var (
	errAway    = errors.New("the service is away")
	errRefused = fence.Definite.Wrap(errAway)
	errUnknown = &lock.UnknownError{Op: "lock", Scope: scope, Err: errAway}
)

// TestLeadWaitsForTheService: ever longer, up to a bound, and not all for the same time.
func TestLeadWaitsForTheService(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		seen := make(map[time.Duration]bool)
		for range 3 {
			b := &failing{Backend: m.Open(), errs: slices.Repeat([]error{errRefused, errUnknown}, 10)}
			if err := lock.Lead(t.Context(), b, scope, func(context.Context, lock.Grant) error { return nil }); err != nil {
				t.Error(err)
			}
			pauses := b.pauses()
			if len(pauses) != 20 || pauses[0] > 100*time.Millisecond || pauses[19] < 2*time.Second || slices.Max(pauses) > 5*time.Second {
				t.Errorf("the pauses were %v", pauses)
			}
			seen[pauses[19]] = true
		}
		if len(seen) == 1 {
			t.Errorf("three candidates waited for the same time, %v", seen)
		}
	})
}

// TestLeadWaitsBrieflyAfterALongTerm: an outage of before does not count.
func TestLeadWaitsBrieflyAfterALongTerm(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := &failing{Backend: m.Open(), errs: slices.Repeat([]error{errRefused}, 10)}
		var ended time.Time
		err := lock.Lead(t.Context(), b, scope, func(ctx context.Context, g lock.Grant) error {
			if !ended.IsZero() {
				return nil
			}
			time.Sleep(time.Minute) // of fake time
			m.Revoke(g)
			<-ctx.Done()
			ended = time.Now()
			return nil
		})
		if pause := b.at[len(b.at)-1].Sub(ended); err != nil || pause > 100*time.Millisecond {
			t.Errorf("Lead returned %v, and stood again after %v", err, pause)
		}
	})
}

func TestLeadSaysWhatTheServiceSaid(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b := &failing{Backend: m.Open(), errs: slices.Repeat([]error{errUnknown}, 1000)}
		err := lock.Lead(ctx, b, scope, func(context.Context, lock.Grant) error {
			t.Error("f ran")
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errAway) || fence.OutcomeOf(err) != fence.Unknown || !strings.Contains(err.Error(), scope) {
			t.Errorf("Lead returned %v, %v", err, fence.OutcomeOf(err))
		}
	})
}

// TestLeadEndsWhileItWaits: with what Lock says, and nothing besides.
func TestLeadEndsWhileItWaits(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		if _, err := m.Open().Lock(t.Context(), scope); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := lock.Lead(ctx, m.Open(), scope, func(context.Context, lock.Grant) error {
			t.Error("f ran")
			return nil
		})
		if err != context.DeadlineExceeded {
			t.Errorf("Lead returned %v, want the deadline's error", err)
		}
	})
}
