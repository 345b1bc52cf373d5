package lock

import (
	"context"
	"errors"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// unlockTimeout bounds the release in Do, which has to happen also where the
// caller's context is done.
const unlockTimeout = 5 * time.Second

// Do waits for the lock of scope, runs f under it, waits for f to return, and
// frees the lock, also where f panics. f's context carries the claim of the grant, which
// fence.ClaimOf finds by the grant's scope, and a fencehttp.Transport sends.
//
// When the tenure is lost, or can no longer be known to be current, f's context is
// cancelled, and its cause (see context.Cause) matches ErrLost or ErrCutOff. Do
// then returns such an error even where f returned nil: part of the work may have
// been done after the loss. Whether it was admitted is the resource's to say, by
// the token that f shows to it. Where the service was cut off, and says at the
// release that the tenure is over, the error matches ErrLost alone.
//
// ctx bounds the wait for the lock and, by f's context, f. Where f obeys it, Do
// returns when ctx is done, and what the backend says of its Lock, or the release,
// comes on top. The release has up to 5 s of its own, because the lock has to be
// freed also where ctx is done.
//
// The error joins what f returned with what the release returned; an
// *UnknownError in it says that the lock may stay taken until its TTL is over.
func Do(ctx context.Context, b Backend, scope string, f func(context.Context, Grant) error) (err error) {
	t, err := b.Lock(ctx, scope)
	if err != nil {
		return err
	}
	work, cancel := context.WithCancelCause(fence.WithClaim(ctx, t.Grant().Claim()))
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-t.Done():
			cancel(t.Err())
		case <-work.Done():
		}
	}()
	defer func() {
		cancel(nil) // so that f's context, if it is still used, does not report the release as a loss
		<-watching
		err = join(err, release(ctx, t))
	}()
	return f(work, t.Grant())
}

// release frees the lock and reports a loss that happened before.
func release(ctx context.Context, t Tenure) error {
	before := t.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	err := t.Unlock(ctx)
	if errors.Is(err, ErrLost) {
		return err // which says all that there is to know
	}
	return join(before, err)
}
