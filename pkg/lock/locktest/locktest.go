// Package locktest has the laws of a lock backend, each as one named check.
//
//	func TestLaws(t *testing.T) {
//		locktest.Run(t, locktest.Subject{Open: open, TTL: time.Second, Slack: time.Second})
//	}
//
// The checks use the backend as its users do, with clients that race, wait,
// crash and wake up again. They never take longer than a few times TTL plus
// Slack, whatever the backend does, provided that it honours contexts.
package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// Subject is a lock service under test.
type Subject struct {
	// Open connects a fresh client to the service. All clients see the same locks.
	Open func(context.Context) (Client, error)
	// Restart stops the service and starts it again with the data that it had,
	// at the same address. Nil: laws about restarts are skipped.
	Restart func(context.Context) error
	// TTL is what the clients ask for: how long a lock outlives its holder's crash.
	TTL time.Duration
	// Slack is what may come on top of TTL before the lock is free and before the
	// holder knows: the granularity of the service's and the client's clocks, and
	// the slowness of the machine. The checks wait for events, so that a generous
	// Slack costs time in the failing case only, except in the one law that a
	// living holder keeps its lock.
	Slack time.Duration
}

// Client is one process's access to the lock service.
type Client struct {
	lock.Backend
	// Crash makes the client fall silent without a goodbye: from now on nothing
	// that it sends reaches the service, and no answer reaches it. Nil: laws about
	// crashes are skipped.
	Crash func()
	// Wake undoes Crash: the client was but paused, or cut off, and goes on as if
	// nothing had happened. Nil: laws about paused clients are skipped.
	Wake func()
	// Close disconnects the client and frees its resources, crashed or not.
	Close func()
}

// Law is one rule that every lock backend obeys.
type Law struct {
	Name string
	Doc  string // what has to hold, and why it matters
	// Check returns nil where the subject obeyed, an error that says what happened
	// where it did not, and one that matches errors.ErrUnsupported where the
	// subject offers no way to find out.
	Check func(context.Context, Subject) error
}

// Laws is the list of all laws, in the order in which Run checks them.
var Laws = []Law{
	law("one tenure at a time", oneTenure,
		"Between a grant and its release no other client is granted the lock."),
	law("a grant is a value", grantIsValue,
		"It names the scope, an owner that no other grant has, and a valid token, and stays the same when the lock has moved on. A token that is read at the time of use is the successor's."),
	law("tokens grow after a release", tokensAfterRelease,
		"Each grant's token is higher than that of the grant before, be it the same client's or another's."),
	law("tokens grow after an expiry", tokensAfterExpiry,
		"The crashed holder may be but paused; with a token that is not lower than its successor's it passes the fence."),
	law("tokens grow under racing clients", tokensRacing,
		"In the order of the tenures, whatever the order of the requests was."),
	law("tokens grow after a service restart", tokensAfterRestart,
		"A counter that is kept in memory starts again, and the fence then refuses the rightful holder."),
	law("a second unlock frees nothing", secondUnlock,
		"It says ErrLost, and the lock stays with the successor."),
	law("a late unlock frees nothing", lateUnlock,
		"A holder that was paused past its expiry gets ErrLost, and the lock stays with the successor."),
	law("an unlock without an answer says so", unansweredUnlock,
		"It is neither success nor ErrLost but an UnknownError; the holder lets go, and the lock is free within the TTL."),
	law("the holder is told on unlock", toldOnUnlock,
		"Done is open during the tenure and closed after its release."),
	law("the holder is told on loss", toldOnLoss,
		"Done is closed also where the client cannot reach the service: it knows its own TTL."),
	law("a crash frees the lock", crashFrees,
		"Within TTL plus Slack a waiting client is granted it."),
	law("a living holder keeps the lock", livingHolder,
		"The backend renews the tenure, past the TTL and for as long as it takes."),
	law("a waiter whose context ends leaves the queue", cancelledWaiter,
		"Lock returns the context's error, and once the holder releases the lock it is free at once."),
	law("a trylock that fails leaves nothing", tryLockHeld,
		"It says ErrLocked without waiting, and once the holder releases the lock it is free at once."),
}

// Run checks every law, each as a subtest. A law that the subject cannot
// exercise is skipped, with the reason.
func Run(t *testing.T, s Subject) {
	for _, l := range Laws {
		t.Run(l.Name, func(t *testing.T) {
			err := l.Check(t.Context(), s)
			switch {
			case errors.Is(err, errors.ErrUnsupported):
				t.Skip(err)
			case err != nil:
				t.Errorf("%v\nThe law: %s", err, l.Doc)
			}
		})
	}
}
