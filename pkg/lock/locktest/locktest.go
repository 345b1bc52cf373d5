// Package locktest has the laws of a lock backend, each as one named check.
//
//	func TestLaws(t *testing.T) {
//		locktest.Run(t, locktest.Subject{Open: open, TTL: time.Second, Slack: time.Second})
//	}
//
// What kind of lock service it is, the Subject says: one without ordered tokens, with
// a fixed lease, with a fair queue, with shared locks, one that is re-entrant. It is
// then held to the laws of its kind. Run logs what the Subject says, which laws
// were left out, and how long the laws took. The flag -short of go test leaves out the
// laws that wait for the end of a lease.
//
// The checks use the backend as its users do, with clients that race, wait,
// crash and wake up again. A check takes some ten times TTL plus Slack at most, and three
// attempts where the backend fails, provided that the backend honours contexts.
package locktest

import (
	"context"
	"fmt"
	"strings"
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
	// NoToken: the service gives out no ordered number, and its grants have tokens
	// of 0.
	NoToken bool
	// FixedLease: nothing renews the tenures, which last for TTL. Each is a
	// lock.Expirer, and a lock.Extender where the service can do that.
	FixedLease bool
	// Fair: those who wait for a lock get it in the order in which they came.
	Fair bool
	// Shared: the Backend of each client is a lock.Sharer.
	Shared bool
	// Inspects: the Backend of each client is a lock.Inspector.
	Inspects bool
	// NoWords: the service has no room for the words of a holder.
	NoWords bool
	// Reentrant: a client that holds a lock is granted it again, as by
	// lock.Reenter. Otherwise it has to wait as others do.
	Reentrant bool
	// Again reports whether an error says no more than that the call is to be made
	// again, such as a serialization failure. The checks then do so, some
	// times. Nil: no error says that.
	Again func(error) bool
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
	// Waits: Check waits for the end of a lease, or looks on for several leases. Run
	// checks such laws side by side, and leaves them out where the tests are to be short.
	Waits bool
	// Restarts: Check restarts the service. No other law is checked meanwhile.
	Restarts bool
	// Check returns nil where the subject obeyed, an error that says what happened
	// where it did not, and one that matches errors.ErrUnsupported where the
	// subject offers no way to find out.
	Check func(context.Context, Subject) error
}

// String is what the subject says of itself.
func (s Subject) String() string {
	says := []string{fmt.Sprintf("a TTL of %v and %v of slack", s.TTL, s.Slack)}
	say := func(is bool, yes, no string) {
		if !is {
			yes = no
		}
		says = append(says, yes)
	}
	say(!s.NoToken, "ordered tokens", "no ordered tokens")
	say(s.Restart != nil, "can be restarted", "cannot be restarted")
	say(s.FixedLease, "a fixed lease", "tenures that are renewed")
	say(s.Fair, "a fair queue", "no fair queue")
	say(s.Shared, "shared and exclusive locks", "exclusive locks only")
	say(s.Inspects, "tells who holds a lock", "does not tell who holds a lock")
	say(s.Reentrant, "re-entrant", "not re-entrant")
	say(s.Again != nil, "may want a call again", "wants no call again")
	return strings.Join(says, ", ")
}
