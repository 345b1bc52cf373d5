package lock

import (
	"context"
	"errors"
	"time"
)

// unlockTimeout bounds the release in Do, which has to happen also where the
// caller's context is done.
const unlockTimeout = 5 * time.Second

// Do waits for the lock of scope, runs f under it, waits for f to return, and
// frees the lock, also where f panics.
//
// When the tenure is lost, f's context is cancelled with ErrLost as its cause
// (see context.Cause). Do then returns an error that matches ErrLost even where
// f returned nil: part of the work may have been done after the loss. Whether
// it was admitted is the resource's to say, by the token that f shows to it.
//
// The error joins what f returned with what the release returned; an
// *UnknownError in it says that the lock may stay taken until its TTL is over.
func Do(ctx context.Context, b Backend, scope string, f func(context.Context, Grant) error) (err error) {
	t, err := b.Lock(ctx, scope)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-t.Done():
			cancel(ErrLost)
		case <-work.Done():
		}
	}()
	defer func() {
		cancel(nil) // so that f's context, if it is still used, does not report the release as a loss
		<-watching
		err = errors.Join(err, release(ctx, t))
	}()
	return f(work, t.Grant())
}

// release frees the lock and reports a loss that happened before.
func release(ctx context.Context, t Tenure) error {
	lost := false
	select {
	case <-t.Done():
		lost = true
	default:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	err := t.Unlock(ctx)
	if lost && !errors.Is(err, ErrLost) {
		return errors.Join(ErrLost, err)
	}
	return err
}
