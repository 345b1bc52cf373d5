package lock

import (
	"context"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Grant says that an owner was given the lock of a scope. It is a value: fixed
// at the grant and never read again from the service, which by then may answer
// with the grant of a successor.
type Grant struct {
	Scope string // the lock's name
	Owner string // the lock service's name for this tenure; no two tenures share one
	// Token is higher than that of every earlier grant of the scope: after a
	// release, after an expiry, under racing clients, and after a restart of the
	// service. Tokens of two scopes are not comparable. 0: the service gives out
	// no ordered number, and a resource cannot be fenced by it.
	Token fence.Token
	Mode  fence.Mode // how the tenure holds the lock; the zero value is fence.Exclusive
}

// Claim returns what a request under this grant shows to the resource. The
// caller may add a sequence number.
func (g Grant) Claim() fence.Claim {
	return fence.Claim{Scope: g.Scope, Token: g.Token, Mode: g.Mode}
}

// Backend is a client of one lock service. Its methods are safe for concurrent
// use, and two tenures of one Backend exclude each other as those of two do. Two
// scopes never exclude each other, whatever their names.
//
// A service that gives out no ordered number for its grants gives tokens of 0. Its
// Backend invents none.
//
// TryLock and Lock grant exclusive tenures. A service that also has shared ones has
// a Backend that is a Sharer too.
//
// A method whose ctx is done returns, though the service does not answer. What it
// may need on top of that, to clear up, the backend says.
type Backend interface {
	// TryLock makes one attempt and does not wait for other holders. It returns
	// ErrLocked where another tenure of the scope is current, and then leaves
	// nothing behind in the service. Under a ctx that is done already, it returns
	// the error of ctx, as Lock does, and asks for nothing.
	//
	// At most one tenure of a scope is current at any time, by the lock
	// service's own account.
	TryLock(ctx context.Context, scope string) (Tenure, error)

	// Lock waits until the lock is granted, or until ctx is done, and then leaves
	// no place in the queue behind. ctx bounds the wait, not the tenure.
	//
	// With an error from Lock or TryLock the caller holds nothing, and the error
	// says whether the service may still count it in: an *UnknownError means
	// that something may be left there, at the longest for the lock's TTL.
	Lock(ctx context.Context, scope string) (Tenure, error)
}

// Sharer is a Backend whose locks can also be held by several tenures at a time.
// Find it by assertion: b.(lock.Sharer). Shared makes it a Backend for Do.
//
// Shared tenures of a scope may overlap one another, never an exclusive one. Tokens
// grow over both modes, as Grant.Token says: readers that come one after the other have
// two tokens, and an exclusive grant has a higher one than each earlier shared one.
type Sharer interface {
	// TryRLock makes one attempt to get a shared tenure, as TryLock does for an
	// exclusive one. It may return ErrLocked also where an exclusive tenure is only
	// waited for, so that readers do not starve a writer.
	TryRLock(ctx context.Context, scope string) (Tenure, error)

	// RLock waits for a shared tenure, as Lock does for an exclusive one.
	RLock(ctx context.Context, scope string) (Tenure, error)
}

// Tenure is the time from a grant to its release or loss. The backend renews it
// until then, unless the tenure is an Expirer; when the holder crashes or is cut off, the service ends it within
// the lock's TTL, and what the service's clock adds. Methods are safe for
// concurrent use.
type Tenure interface {
	// Grant returns the same value always, also after the tenure is over.
	Grant() Grant

	// Done returns a channel that is closed when the tenure is over, be it lost
	// or released, or when it can no longer be known to be current because the
	// service cannot be reached. The news may come late: only the fence keeps
	// work out that goes on in between.
	Done() <-chan struct{}

	// Err says why Done is closed: an error that matches ErrLost where the service
	// said that the tenure is over, one that matches ErrCutOff where it was not
	// heard of for the TTL, or where a fixed lease ran out. It is nil while Done is open, and where Unlock closed
	// it.
	Err() error

	// Unlock frees the lock. It returns ErrLost where the tenure was over
	// already, by loss or by an Unlock before or at the same time, and then frees
	// nothing: above all not the lock of a successor.
	//
	// An *UnknownError means that the lock may or may not be free. Whatever
	// Unlock returns, Done is closed and the tenure is not renewed any more, so
	// that the lock is free within its TTL at the latest.
	Unlock(ctx context.Context) error
}

// Expirer is a Tenure with a fixed lease: nothing renews it, and it ends by itself.
// Find it by assertion: t.(lock.Expirer).
type Expirer interface {
	// Until returns the time, by the holder's clock, at which the lease runs out,
	// and Done is closed at the latest. The service keeps the lock at least until
	// then, if both clocks run equally fast: the backend counts from the time
	// before it asked.
	Until() time.Time
}

// Extender is an Expirer whose lease can be made longer.
// Find it by assertion: t.(lock.Extender).
type Extender interface {
	Expirer
	Extensible
}

// Extensible is a Tenure whose lease can be made longer: an Extender, or a tenure that is renewed, of
// a service that has a time for each lease. So the lock outlasts a step in which the program may be paused,
// or cannot reach the service. Find it by assertion: t.(lock.Extensible).
type Extensible interface {
	// Extend lets the lease run out d from now, and not before. The grant stays
	// the same. With nil, Until is at least d after the call began. A lease that is
	// renewed gets no shorter: the next renewals leave it as it is until d is near, and
	// Done is not closed before d for want of an answer.
	//
	// It returns ErrLost where the tenure was over already, and then extends
	// nothing: above all not the lease of a successor. An *UnknownError means that
	// the lease may or may not be longer. With an error Until is as it was; it is
	// earlier where the outcome is unknown and d would end before.
	Extend(ctx context.Context, d time.Duration) error
}
