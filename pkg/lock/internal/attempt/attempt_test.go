package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// TestFailed: the error of an attempt says whether something is left, and why it failed.
func TestFailed(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		ctx       context.Context
		err, left error
		outcome   fence.Outcome
		is        []error
		text      string
	}{
		"nothing is left": {t.Context(), refused, nil, fence.Definite, []error{refused},
			`package: lock "scope": refused`},
		"locked": {t.Context(), lock.ErrLocked, nil, fence.Definite, []error{lock.ErrLocked},
			`package: lock "scope": lock: locked by another tenure`},
		"the context is done": {done, refused, nil, fence.Definite, []error{context.Canceled},
			`package: lock "scope": context canceled`},
		"the context is done, and something is left": {done, refused, errors.New("no answer"), fence.Unknown, []error{context.Canceled},
			`lock: lock "scope": outcome unknown: package: lock "scope": context canceled; and a key may be left: no answer`},
	} {
		err := attempt.Attempt{Package: "package", Way: attempt.Lock, Scope: "scope"}.Failed(test.ctx, test.err, "a key may be left", test.left)
		if err.Error() != test.text || fence.OutcomeOf(err) != test.outcome {
			t.Errorf("%s: %v, %q; want %v, %q", name, fence.OutcomeOf(err), err, test.outcome, test.text)
		}
		for _, target := range test.is {
			if !errors.Is(err, target) {
				t.Errorf("%s: %q is no %q", name, err, target)
			}
		}
	}
}

// TestAfterwards: a context that goes on after another, by its stop at the latest.
func TestAfterwards(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), t, "kept"), time.Hour)
	late, stop := attempt.Afterwards(ctx)
	cancel()
	if late.Err() != nil || late.Value(t) != "kept" {
		t.Errorf("it is done with the other (%v), or has lost its values", late.Err())
	}
	stop()
	if late.Err() == nil {
		t.Error("it goes on after its stop")
	}
	if late, stop := attempt.Afterwards(context.Background()); late.Done() != nil {
		t.Error("it can end, and the other cannot")
	} else {
		stop()
	}
}

// TestStand: only who waits asks again, under another name, and only if nothing is left.
func TestStand(t *testing.T) {
	left := errors.New("left")
	for name, test := range map[string]struct {
		how  attempt.Way
		left error
		want int
	}{
		"a waiter":                     {attempt.Lock, nil, 3},
		"a waiter that left something": {attempt.Lock, left, 1},
		"nobody waits":                 {attempt.TryLock, nil, 1},
	} {
		names := 0
		granted, remains, err := attempt.Stand(test.how, func() (int, error, error) {
			names++
			if names < 3 {
				return 0, test.left, fmt.Errorf("asked: %w", attempt.ErrLate)
			}
			return names, nil, nil
		})
		if names != test.want || remains != test.left || (err == nil) != (granted == 3) {
			t.Errorf("%s: %d names, and %d, %v, %v; want %d names", name, names, granted, remains, err, test.want)
		}
	}
}

// TestSleep: it lasts as long as it is to, or until its context is done.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := attempt.Sleep(ctx, time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("for a second it lasts %v, and ends with %v", time.Since(began), err)
		}
		if err := attempt.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("until its context is done it lasts %v, and ends with %v", time.Since(began), err)
		}
	})
}
