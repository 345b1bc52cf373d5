// Package attempt has what attempts to take a lock have in common, whatever the lock service.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Cleanup bounds how long an attempt that failed takes to remove what it left in the lock
// service, after the caller's context is done.
const Cleanup = 2 * time.Second

// Way is how an attempt asks for a lock.
type Way struct {
	Op   string // as lock.UnknownError names it
	Mode fence.Mode
	Wait bool
}

// The ways of lock.Backend and of lock.Sharer.
var (
	TryLock  = Way{Op: "trylock", Mode: fence.Exclusive}
	Lock     = Way{Op: "lock", Mode: fence.Exclusive, Wait: true}
	TryRLock = Way{Op: "tryrlock", Mode: fence.Shared}
	RLock    = Way{Op: "rlock", Mode: fence.Shared, Wait: true}
)

// Attempt is an attempt of a package, by its name, to take the lock of a scope.
type Attempt struct {
	Package string
	Way
	Scope string
}

// CheckTTL refuses a TTL that the service of a package would round.
func CheckTTL(pkg string, ttl time.Duration) error {
	if ttl < time.Millisecond || ttl%time.Millisecond != 0 {
		return fence.Definite.New(fmt.Sprintf("%s: a TTL of %v, want whole milliseconds, 1ms or more", pkg, ttl))
	}
	return nil
}

// Failed returns the error of an attempt that failed because of err. If ctx is done, its
// error is the cause. left is why something may be left in the lock service, and remains says
// what that is. Where left is nil, nothing is left, and the error is definite.
func (a Attempt) Failed(ctx context.Context, err error, remains string, left error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = cause
	}
	err = fmt.Errorf("%s: %s %q: %w", a.Package, a.Op, a.Scope, err)
	if left == nil {
		return fence.Definite.Wrap(err)
	}
	return &lock.UnknownError{Op: a.Op, Scope: a.Scope, Err: fmt.Errorf("%w; and %s: %w", err, remains, left)}
}

// ErrLate: the answer that grants a lock came when the lease was over.
var ErrLate = errors.New("the lease was over when the answer came")

// Stand calls stand, which asks for a lock under a name that no tenure ever had. If it fails
// with ErrLate and leaves nothing, and the way is to wait, Stand calls it again: the lock may
// have been taken under the first name, and a name has one tenure at most.
func Stand[T any](how Way, stand func() (_ T, left, err error)) (_ T, left, err error) {
	for {
		tenure, left, err := stand()
		if left != nil || !how.Wait || !errors.Is(err, ErrLate) {
			return tenure, left, err
		}
	}
}

// Sleep waits for d. It returns early, with the error of ctx, when ctx is done.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Afterwards returns a context that ends Cleanup after ctx.
func Afterwards(ctx context.Context) (_ context.Context, stop func()) {
	if ctx.Done() == nil {
		return ctx, func() {}
	}
	late, end := context.WithCancel(context.WithoutCancel(ctx))
	forget := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(Cleanup):
			end()
		case <-late.Done():
		}
	})
	return late, func() { forget(); end() }
}
