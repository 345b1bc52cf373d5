package lock

import (
	"context"
	"errors"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Retry returns a Backend on b that makes an attempt again where the service fails, until the
// service has failed for as long as it may be away: a restart of the service is then a wait.
//
// An attempt is made again only where that cannot mislead. TryLock is, after a definite error:
// nothing is held, and nothing left. After an *UnknownError, TryLock returns it: what the
// attempt may have left in the service would refuse the next one. Lock is made again after
// that, too. It may wait for what was left, for the TTL; and if it fails in the end, the
// *UnknownError is in its error. ErrLocked is an answer, and no failure.
//
// The pauses between attempts grow up to 5 s, and half of each is random. ctx bounds all
// attempts together. A mistake that no attempt can mend, such as a scope that the service
// does not take, is told only when the time is over. The tenures are those of b: an Unlock is
// never made again, because the lock is free within its TTL anyway.
func Retry(b Backend, away time.Duration) Backend { return &retrying{b, away} }

type retrying struct {
	backend Backend
	away    time.Duration
}

func (r *retrying) TryLock(ctx context.Context, scope string) (Tenure, error) {
	return r.repeat(ctx, scope, r.backend.TryLock, func(err error) bool { return fence.OutcomeOf(err) == fence.Definite })
}

func (r *retrying) Lock(ctx context.Context, scope string) (Tenure, error) {
	return r.repeat(ctx, scope, r.backend.Lock, func(error) bool { return true })
}

func (r *retrying) repeat(ctx context.Context, scope string, attempt func(context.Context, string) (Tenure, error), may func(error) bool) (Tenure, error) {
	var (
		p      pauses
		left   error     // of an attempt that may have left something in the service
		failed time.Time // when the service began to fail
	)
	for {
		began := time.Now()
		t, err := attempt(ctx, scope)
		if err == nil {
			return t, nil
		}
		err = join(left, err)
		if unknown := new(UnknownError); left == nil && errors.As(err, &unknown) {
			left = err
		}
		if ctx.Err() != nil || errors.Is(err, ErrLocked) || !may(err) {
			return nil, err
		}
		if failed.IsZero() || time.Since(began) > r.away {
			failed = time.Now() // the service was there meanwhile: the attempt waited for other holders
		}
		if time.Since(failed) >= r.away {
			return nil, err
		}
		if done := p.wait(ctx, began); done != nil {
			return nil, join(done, err)
		}
	}
}
