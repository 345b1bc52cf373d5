// Package locktest has the laws of a lock backend, each as one named check.
//
//	func TestLaws(t *testing.T) {
//		locktest.Run(t, locktest.Subject{Open: open, TTL: time.Second, Slack: time.Second})
//	}
//
// What kind of lock service it is, the Subject says: one without ordered tokens, with
// a fixed lease, with a fair queue, with shared locks, one that is re-entrant. It is
// then held to the laws of its kind. Run logs what the Subject says, and which laws
// were left out.
//
// The checks use the backend as its users do, with clients that race, wait,
// crash and wake up again. They never take longer than a few times TTL plus
// Slack, whatever the backend does, provided that it honours contexts.
package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	// Check returns nil where the subject obeyed, an error that says what happened
	// where it did not, and one that matches errors.ErrUnsupported where the
	// subject offers no way to find out.
	Check func(context.Context, Subject) error
}

// Laws is the list of all laws, in the order in which Run checks them.
var Laws = []Law{
	law("one tenure at a time", oneTenure,
		"Between a grant and its release no other client is granted the lock."),
	law("scopes do not exclude each other", scopesApart,
		"A client holds several locks at a time, also of names of which one begins another, or that differ in case only."),
	law("a client excludes itself", notReentrant(clientExcludesItself),
		"Two parts of one process exclude each other as two processes do."),
	law("a grant is a value", grantIsValue,
		"It names the scope, an owner that no other grant has, and a valid token, and stays the same when the lock has moved on. A token that is read at the time of use is the successor's."),
	law("a grant outlives its tenure", grantOutlivesTenure,
		"Also when the tenure is lost the grant is what it was: the paused holder shows it to the resource, which refuses it."),
	law("owners are unique", ownersAreUnique,
		"No two tenures share an owner, also not two of one client, nor two with a restart of the service between them."),
	law("tokens grow after a release", tokens(tokensAfterRelease),
		"Each grant's token is higher than that of the grant before, be it the same client's or another's."),
	law("tokens grow after an expiry", tokens(tokensAfterExpiry),
		"The crashed holder may be but paused; with a token that is not lower than its successor's it passes the fence."),
	law("tokens grow under racing clients", tokens(tokensRacing),
		"In the order of the tenures, whatever the order of the requests was."),
	law("tokens grow after a service restart", tokens(restarted(tokensAfterRestart)),
		"A counter that is kept in memory starts again, and the fence then refuses the rightful holder."),
	law("a service restart keeps the holder", restarted(restartKeepsHolder),
		"While the holder lives nobody else is granted the lock because the service was down for a moment."),
	law("a second unlock frees nothing", secondUnlock,
		"It says ErrLost, and the lock stays with the successor."),
	law("a late unlock frees nothing", lateUnlock,
		"A holder that was paused past its expiry gets ErrLost, and the lock stays with the successor."),
	law("an unlock is the tenure's", unlockIsTheTenures,
		"The unlock of a tenure that is over does not free a later one of the same client."),
	law("an unlock of what is over says so", overUnlockSaysSo,
		"It is ErrLost also where nobody has come after it."),
	law("of two unlocks at once one frees", twoUnlocks,
		"The other one says ErrLost."),
	law("an unlock without an answer says so", unansweredUnlock,
		"It is neither success nor ErrLost but an UnknownError; the holder lets go, and the lock is free within the TTL."),
	law("the holder is told on unlock", toldOnUnlock,
		"Done is open during the tenure and closed after its release."),
	law("the holder is told on loss", toldOnLoss,
		"Done is closed also where the client cannot reach the service: it knows its own TTL."),
	law("the holder is told in time", toldInTime,
		"Done is closed within TTL plus Slack of the crash, and Err says that the tenure is lost or that nobody knows."),
	law("a call ends with its context", callsEnd,
		"A client that is cut off gets its calls back, with an error, within Slack of their context's end."),
	law("a crash frees the lock", crashFrees,
		"Within TTL plus Slack a waiting client is granted it."),
	law("a living holder keeps the lock", renewed(livingHolder),
		"The backend renews the tenure, past the TTL and for as long as it takes."),
	law("a waiter does not outlast a living holder", renewed(waiterGivesWay),
		"However long it has waited: a waiter that measures the lease by its own clock sees each renewal."),
	law("a crashed waiter leaves the queue", crashedWaiter,
		"Within TTL plus Slack those behind it are served."),
	law("a context that is done asks for nothing", doneContext,
		"Lock and TryLock return its error, grant nothing and leave nothing."),
	law("a waiter whose context ends leaves the queue", cancelledWaiter,
		"Lock returns the context's error, and once the holder releases the lock it is free at once."),
	law("a trylock grants as a lock does", tryLockGrants,
		"Its grant has all that another one has, and keeps others out."),
	law("a trylock's holder keeps the lock", renewed(tryLockLives),
		"Its tenure is renewed, too."),
	law("a trylock does not wait", tryLockDoesNotWait,
		"It tells at once that the lock is held."),
	law("a trylock that fails leaves nothing", tryLockHeld,
		"It says ErrLocked without waiting, and once the holder releases the lock it is free at once."),
	law("waiters are served in their order", fair(inOrder),
		"Whoever came first is granted the lock first."),
	law("re-entry keeps the grant", reentrant(reentryKeepsGrant),
		"The holder is granted the same again: one tenure has one token."),
	law("the last unlock frees a re-entered lock", reentrant(lastUnlockFrees),
		"Those before it leave the lock with the holder."),
	law("shared tenures overlap", sharing(sharedOverlap),
		"Readers hold the lock at the same time, each with a grant of its own, which says that it is shared."),
	law("readers keep a writer out", sharing(readersKeepWriterOut),
		"Until the last of them has released the lock."),
	law("a writer keeps readers out", sharing(writerKeepsReadersOut),
		"No shared tenure begins during an exclusive one."),
	law("tokens grow over both modes", sharing(tokens(tokensOverModes)),
		"By one counter for each mode a resource cannot tell a reader before a writer from one after it."),
	law("a reader's unlock is its own", sharing(readersUnlock),
		"A second one says ErrLost, and the other readers keep the lock."),
	law("a crash frees a shared lock", sharing(crashFreesShared),
		"Within TTL plus Slack a waiting writer is granted it."),
	law("a living reader keeps the lock", sharing(renewed(livingReader)),
		"The backend renews shared tenures, too."),
	law("a lease ends", leased(leaseEnds),
		"Also that of a living holder: Until tells when, the holder is told by then, and others are served."),
	law("a lease lasts until its time", leased(leaseLasts),
		"Nobody else is granted the lock before Until."),
	law("an extended lease goes on", leased(extendedLease),
		"Extend moves Until by what was asked for, the service keeps to it, and the grant is the same."),
	law("an extension of what is over says so", leased(overExtension),
		"It is ErrLost, and the lock stays with the successor."),
	law("an extension without an answer says so", leased(unansweredExtension),
		"It is an UnknownError, and Until is as it was."),
}

// Run checks every law, each as a subtest. A law that the subject cannot
// exercise is skipped, with the reason. It logs what the subject says of itself,
// and which laws were left out for it.
func Run(t *testing.T, s Subject) {
	t.Logf("the lock service, by its own account: %s", s)
	for _, l := range Laws {
		var left error
		t.Run(l.Name, func(t *testing.T) {
			err := l.Check(t.Context(), s)
			switch {
			case errors.Is(err, errors.ErrUnsupported):
				left = err
				t.Skip(err)
			case err != nil:
				t.Errorf("%v\nThe law: %s", err, l.Doc)
			}
		})
		if left != nil {
			t.Logf("left out: %s: %v", l.Name, left)
		}
	}
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
	say(s.Reentrant, "re-entrant", "not re-entrant")
	say(s.Again != nil, "may want a call again", "wants no call again")
	return strings.Join(says, ", ")
}
