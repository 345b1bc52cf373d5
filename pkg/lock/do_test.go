package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

const scope = "/scope"

// bubble runs test under fake time with a lock service whose TTL is 1 s.
func bubble(t *testing.T, test func(*testing.T, *locktest.Memory)) {
	synctest.Test(t, func(t *testing.T) { test(t, locktest.NewMemory(time.Second)) })
}

func wantFree(t *testing.T, m *locktest.Memory) {
	t.Helper()
	if _, err := m.Open().TryLock(t.Context(), scope); err != nil {
		t.Errorf("after Do: %v, want the lock free", err)
	}
}

func wantHeld(t *testing.T, m *locktest.Memory) {
	t.Helper()
	if _, err := m.Open().TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("during Do: TryLock returned %v, want ErrLocked", err)
	}
}

func TestDoHoldsTheLockAndFreesIt(t *testing.T) {
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		bubble(t, func(t *testing.T, m *locktest.Memory) {
			var work context.Context
			err := lock.Do(t.Context(), m.Open(), scope, func(ctx context.Context, g lock.Grant) error {
				work = ctx
				if g.Scope != scope || !g.Token.Valid() || g.Claim().Token != g.Token || g.Claim().Scope != scope {
					t.Errorf("grant %+v with claim %+v", g, g.Claim())
				}
				wantHeld(t, m)
				return want
			})
			if !errors.Is(err, want) || (want == nil && err != nil) {
				t.Errorf("Do returned %v, want %v", err, want)
			}
			if cause := context.Cause(work); cause != context.Canceled {
				t.Errorf("after Do, the cause of f's context is %v; the release is no loss", cause)
			}
			wantFree(t, m)
		})
	}
}

// TestContextCarriesTheClaims: of a lock that is alone or shared, of one that is held already,
// and of several locks.
func TestContextCarriesTheClaims(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		check := func(ctx context.Context, grants ...lock.Grant) error {
			for _, g := range grants {
				if c, carried := fence.ClaimOf(ctx, g.Scope); !carried || c != g.Claim() || c.Token == 0 {
					t.Errorf("the context carries %+v, %v, want %+v", c, carried, g.Claim())
				}
			}
			return nil
		}
		one := func(ctx context.Context, g lock.Grant) error { return check(ctx, g) }
		b := lock.Reenter(m.Open())
		again := func(ctx context.Context, g lock.Grant) error {
			return errors.Join(check(ctx, g), lock.Do(ctx, b, scope, one))
		}
		all := func(ctx context.Context, grants []lock.Grant) error { return check(ctx, grants...) }
		if err := errors.Join(
			lock.Do(t.Context(), m.Open(), scope, one),
			lock.Do(t.Context(), lock.Shared(m.Open().Backend.(lock.Sharer)), scope, one),
			lock.Do(t.Context(), b, scope, again),
			lock.Multi(t.Context(), m.Open(), []string{"/b", "/a"}, all),
		); err != nil {
			t.Error(err)
		}
	})
}

func TestDoDoesNotRunWithoutAGrant(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		if _, err := m.Open().Lock(t.Context(), scope); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := lock.Do(ctx, m.Open(), scope, func(context.Context, lock.Grant) error {
			t.Error("f ran")
			return nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do returned %v, want the deadline's error", err)
		}
	})
}

func TestDoFreesTheLockWhereTheContextIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		ctx, cancel := context.WithCancel(t.Context())
		err := lock.Do(ctx, m.Open(), scope, func(ctx context.Context, _ lock.Grant) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, lock.ErrLost) {
			t.Errorf("Do returned %v, want that the context is cancelled, and no loss", err)
		}
		wantFree(t, m)
	})
}

func TestDoFreesTheLockWherePanicking(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		defer func() {
			if got := recover(); got != "oops" {
				t.Errorf("recovered %v, want f's panic", got)
			}
			wantFree(t, m)
		}()
		_ = lock.Do(t.Context(), m.Open(), scope, func(context.Context, lock.Grant) error { panic("oops") })
	})
}

func TestDoReportsALossThatFDidNotSee(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		c := m.Open()
		err := lock.Do(t.Context(), c, scope, func(ctx context.Context, _ lock.Grant) error {
			c.Crash()
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrCutOff) || errors.Is(cause, lock.ErrLost) {
				t.Errorf("the cause is %v, want ErrCutOff: nobody has told it", cause)
			}
			c.Wake()
			return nil
		})
		if !errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrCutOff) {
			t.Errorf("Do returned %v, want ErrLost alone: the service has said it", err)
		}
	})
}

func TestDoReportsALossThatTheServiceTells(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		err := lock.Do(t.Context(), m.Open(), scope, func(ctx context.Context, g lock.Grant) error {
			m.Revoke(g)
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, lock.ErrLost) || errors.Is(cause, lock.ErrCutOff) {
				t.Errorf("the cause is %v, want ErrLost", cause)
			}
			return nil
		})
		if !errors.Is(err, lock.ErrLost) || errors.Is(err, lock.ErrCutOff) {
			t.Errorf("Do returned %v, want ErrLost", err)
		}
	})
}

func TestDoReportsALossAndAnUnknownRelease(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		c := m.Open()
		failed := errors.New("failed")
		err := lock.Do(t.Context(), c, scope, func(ctx context.Context, _ lock.Grant) error {
			c.Crash()
			<-ctx.Done()
			return failed
		})
		unknown := new(lock.UnknownError)
		if !errors.Is(err, lock.ErrCutOff) || errors.Is(err, lock.ErrLost) || !errors.Is(err, failed) || !errors.As(err, &unknown) {
			t.Errorf("Do returned %v, want f's error, ErrCutOff, an UnknownError, and no ErrLost", err)
		}
		want := fmt.Sprintf("failed; %v; %v", lock.ErrCutOff, unknown)
		if got := err.Error(); got != want {
			t.Errorf("Do returned %q, want %q", got, want)
		}
	})
}

// stuck is a tenure whose service does not answer.
type stuck struct{ lock.Tenure }

func (s stuck) Unlock(ctx context.Context) error {
	<-ctx.Done()
	return &lock.UnknownError{Op: "unlock", Scope: scope, Err: ctx.Err()}
}

type stuckBackend struct{ lock.Backend }

func (b stuckBackend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := b.Backend.Lock(ctx, scope)
	return stuck{t}, err
}

func TestDoBoundsTheReleaseByATimeoutOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		ctx, cancel := context.WithCancel(t.Context())
		var began time.Time
		err := lock.Do(ctx, stuckBackend{m.Open()}, scope, func(context.Context, lock.Grant) error {
			cancel()
			began = time.Now()
			return nil
		})
		want := `lock: unlock "/scope": outcome unknown: context deadline exceeded`
		if err == nil || err.Error() != want || errors.Is(err, lock.ErrLost) {
			t.Errorf("Do returned %v, want %s", err, want)
		}
		if d := time.Since(began); d < time.Second || d > 10*time.Second {
			t.Errorf("the release was given %v, want a few seconds", d)
		}
	})
}

// TestOutcomes: one notion for what the errors of locks and of fenced stores say.
func TestOutcomes(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		holder, c := m.Open(), m.Open()
		run := func(f func(lock.Grant) error) error {
			return lock.Do(t.Context(), c, scope, func(_ context.Context, g lock.Grant) error { return f(g) })
		}
		var marks fence.Register
		stale := fence.Claim{Scope: scope, Token: 1}
		if err := marks.Do(t.Context(), fence.Claim{Scope: scope, Token: 2}, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name string
			err  func() error
			want fence.Outcome
		}{
			{"all is well", func() error { return run(func(lock.Grant) error { return nil }) }, fence.Definite},
			{"refused", func() error {
				return run(func(lock.Grant) error { return marks.Do(t.Context(), stale, nil) })
			}, fence.Definite},
			{"lost", func() error {
				return run(func(g lock.Grant) error { m.Revoke(g); return errors.New("failed") })
			}, fence.Lost},
			{"no scope", func() error { return lock.Multi(t.Context(), c, nil, nil) }, fence.Definite},
			{"locked", func() error {
				if _, err := holder.Lock(t.Context(), scope); err != nil {
					return err
				}
				_, err := c.TryLock(t.Context(), scope)
				holder.Close()
				return err
			}, fence.Definite},
			{"no answer", func() error {
				return run(func(lock.Grant) error { c.Crash(); return nil })
			}, fence.Unknown},
		} {
			if err := test.err(); fence.OutcomeOf(err) != test.want {
				t.Errorf("%s: %v is %v, want it %v", test.name, err, fence.OutcomeOf(err), test.want)
			}
		}
		if got := fence.OutcomeOf(lock.ErrCutOff); got != fence.CutOff {
			t.Errorf("ErrCutOff is %v", got)
		}
	})
}
