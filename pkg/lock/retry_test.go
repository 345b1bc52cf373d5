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

// TestRetryRepeatsWhatMayBeRepeated: and nothing else.
func TestRetryRepeatsWhatMayBeRepeated(t *testing.T) {
	try := func(ctx context.Context, b lock.Backend) (lock.Tenure, error) { return b.TryLock(ctx, scope) }
	wait := func(ctx context.Context, b lock.Backend) (lock.Tenure, error) { return b.Lock(ctx, scope) }
	for name, tt := range map[string]struct {
		ask      func(context.Context, lock.Backend) (lock.Tenure, error)
		errs     []error
		attempts int
		want     error // nil: a tenure
	}{
		"nothing fails":                 {try, nil, 1, nil},
		"TryLock, definite":             {try, []error{errRefused, errRefused}, 3, nil},
		"TryLock, taken":                {try, []error{lock.ErrLocked}, 1, lock.ErrLocked},
		"TryLock, definite, then taken": {try, []error{errRefused, lock.ErrLocked}, 2, lock.ErrLocked},
		"TryLock, unknown":              {try, []error{errUnknown}, 1, errUnknown},
		"TryLock, nobody says":          {try, []error{errAway}, 1, errAway},
		"Lock, definite":                {wait, []error{errRefused, errRefused}, 3, nil},
		"Lock, unknown":                 {wait, []error{errUnknown, errRefused}, 3, nil},
		"Lock, nobody says":             {wait, []error{errAway}, 2, nil},
	} {
		bubble(t, func(t *testing.T, m *locktest.Memory) {
			b := &failing{Backend: m.Open(), errs: tt.errs}
			tenure, err := tt.ask(t.Context(), lock.Retry(b, time.Minute))
			if len(b.at) != tt.attempts || !errors.Is(err, tt.want) || (tenure == nil) != (tt.want != nil) {
				t.Errorf("%s: %v, %v after %d attempts, want %v after %d", name, tenure, err, len(b.at), tt.want, tt.attempts)
			}
		})
	}
}

// TestRetryGivesUp: when the service has been away for too long, or ctx is done, and the error
// says whether any of the attempts may have left something.
func TestRetryGivesUp(t *testing.T) {
	const away = time.Minute
	for name, tt := range map[string]struct {
		first error
		bound time.Duration // of ctx
		want  error
		knows fence.Outcome
	}{
		"nothing left":        {errRefused, time.Hour, errAway, fence.Definite},
		"something left":      {errUnknown, time.Hour, errAway, fence.Unknown},
		"ctx is done":         {errRefused, time.Second, context.DeadlineExceeded, fence.Definite},
		"left, and ctx done":  {errUnknown, time.Second, context.DeadlineExceeded, fence.Unknown},
		"ctx done beforehand": {errRefused, -time.Second, errAway, fence.Definite},
	} {
		bubble(t, func(t *testing.T, m *locktest.Memory) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.bound)
			defer cancel()
			b := &failing{Backend: m.Open(), errs: append([]error{tt.first}, slices.Repeat([]error{errRefused}, 1000)...)}
			began := time.Now()
			tenure, err := lock.Retry(b, away).Lock(ctx, scope)
			if tenure != nil || !errors.Is(err, tt.want) || fence.OutcomeOf(err) != tt.knows || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, %q, which is %v, want one line", name, tenure, err, fence.OutcomeOf(err))
			}
			took, most := time.Since(began), min(tt.bound, away+5*time.Second)
			if took > max(most, 0) || took < min(tt.bound, away) {
				t.Errorf("%s: it took %v", name, took)
			}
			if tt.bound < 0 && len(b.at) != 1 {
				t.Errorf("%s: %d attempts", name, len(b.at))
			}
		})
	}
}

// TestRetryEndsWithItsContext: with what Lock says, and nothing besides.
func TestRetryEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		mustLock(t, m.Open())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lock.Retry(m.Open(), time.Hour).Lock(ctx, scope); err == nil || err.Error() != context.DeadlineExceeded.Error() {
			t.Errorf("Lock returned %v, want the deadline's error", err)
		}
	})
}

// TestRetryCountsEachOutage: a Lock that has waited for a holder, longer than an outage may
// be, outlives the next outage as it did the first.
func TestRetryCountsEachOutage(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := &broken{Backend: m.Open(), after: time.Hour, left: 3}
		if _, err := lock.Retry(b, time.Minute).Lock(t.Context(), scope); err != nil {
			t.Errorf("Lock returned %v after %d outages", err, 3-b.left)
		}
	})
}

// broken is a backend by which some Locks wait, and then fail.
type broken struct {
	lock.Backend
	after time.Duration
	left  int
}

func (b *broken) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	if b.left == 0 {
		return b.Backend.Lock(ctx, scope)
	}
	b.left--
	time.Sleep(b.after) // of fake time
	return nil, errRefused
}

// TestRetryObeysTheLaws: where nothing fails, it is the lock that it is made of.
func TestRetryObeysTheLaws(t *testing.T) {
	lawsAround(t, func(b lock.Backend) lock.Backend { return lock.Retry(b, 10*time.Millisecond) })
}
