package attempt_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// TestFixedExtensions: the lease lasts as long as was asked for last, be it shorter. What is in doubt counts as the shorter one.
func TestFixedExtensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var life attempt.Life
		broken := errors.New("the connection was broken")
		var failure error
		fixed(&life, func(context.Context, time.Duration) (bool, error) { return true, failure })
		for _, step := range []struct {
			d, lasts time.Duration
			err      error
			outcome  fence.Outcome
		}{
			{time.Hour, time.Hour, nil, fence.Definite},
			{time.Minute, time.Minute, nil, fence.Definite},
			{time.Hour, time.Minute, broken, fence.Unknown},
			{2 * time.Minute, 2 * time.Minute, nil, fence.Definite},
			{time.Second, 2 * time.Minute, fence.Definite.Wrap(broken), fence.Definite},
			{time.Minute, time.Minute, broken, fence.Unknown},
		} {
			failure = step.err
			err := life.Extend(t.Context(), step.d)
			if !errors.Is(err, step.err) || fence.OutcomeOf(err) != step.outcome {
				t.Errorf("Extend(%v) returned %v, %v, want %v, %v", step.d, err, fence.OutcomeOf(err), step.err, step.outcome)
			}
			if lasts := life.Until().Sub(began); lasts != step.lasts {
				t.Errorf("after Extend(%v) with %v the lease lasts %v, want %v", step.d, step.err, lasts, step.lasts)
			}
		}
		<-life.Done()
		if took := time.Since(began); took != time.Minute || life.Err() != lock.ErrCutOff {
			t.Errorf("the life ends after %v with %v, want a minute and ErrCutOff", took, life.Err())
		}
		if err := life.Extend(t.Context(), time.Hour); !errors.Is(err, lock.ErrLost) {
			t.Errorf("after its end Extend returned %v, want ErrLost", err)
		}
	})
}

// TestFixedExtensionOnItsWay: nobody waits for its answer any more, and the next one does, until the lease is over. Its answer
// is not noted.
func TestFixedExtensionOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var life attempt.Life
		answer := make(chan struct{})
		fixed(&life, func(ctx context.Context, _ time.Duration) (bool, error) {
			select {
			case <-answer:
				return true, nil
			case <-ctx.Done():
				return false, ctx.Err()
			}
		})
		extend := func(d time.Duration, want fence.Outcome) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := life.Extend(ctx, d); !errors.Is(err, context.DeadlineExceeded) || fence.OutcomeOf(err) != want {
				t.Errorf("got %v, %v, want that the context ended, %v", err, fence.OutcomeOf(err), want)
			}
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if err := life.Extend(done, time.Hour); !errors.Is(err, context.Canceled) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("with a context that is done: %v, %v, want its error, definite", err, fence.OutcomeOf(err))
		}
		extend(time.Hour, fence.Unknown)
		extend(time.Hour, fence.Definite) // not sent
		answer <- struct{}{}
		synctest.Wait()
		if lasts := life.Until().Sub(began); lasts != lease {
			t.Errorf("the lease lasts %v, want %v as before", lasts, lease)
		}
		extend(time.Hour, fence.Unknown) // which ends with the lease
		<-life.Done()
		synctest.Wait()
	})
}

// TestFixedEndsMeanwhile: a lease that ends while the service is asked is not extended, and nobody knows what the service has.
func TestFixedEndsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var life attempt.Life
		fixed(&life, func(context.Context, time.Duration) (bool, error) {
			time.Sleep(2 * lease)
			return true, nil
		})
		if err := life.Extend(t.Context(), time.Hour); !errors.Is(err, lock.ErrCutOff) || fence.OutcomeOf(err) != fence.Unknown {
			t.Errorf("got %v, %v, want ErrCutOff, unknown", err, fence.OutcomeOf(err))
		}
	})
}
