// Package lock takes a distributed lock and hands out what makes it safe: a
// Grant with a fencing token, to be shown to the resource with each request.
//
// A lock service alone cannot keep a holder out that was paused, lost its lock
// without knowing, and woke up again: between the moment at which the tenure
// ends and the moment at which the holder learns of it, both the old holder and
// the new one believe that they hold the lock. The resource decides, by the
// token; see package fence.
//
// # Ways of use
//
//   - Do something under a lock: Do, and the examples of the package. Multi does it
//     under several locks.
//   - Learn that the lock is lost: f's context ends, by ErrLost or ErrCutOff; see Do.
//   - Send the token to a service: see the example Client; and the example Context, where
//     f's context carries the token.
//   - Share a lock with other readers: Shared makes a Backend for Do of a Sharer.
//   - Take a lock that one holds already: Reenter.
//   - Lead, for as long as the program runs: Lead.
//   - Let n hold a lock at a time: Permits, each with a fence of its own.
//   - Outlive a restart of the lock service: Retry.
//   - See who holds a lock, and say who one is: Inspector, WithWords.
//   - Hold a lock with a fixed lease: a Tenure that is an Expirer ends by itself; one
//     that is an Extender can be made longer. So can many that are renewed: see Extensible.
//   - Hold one lock with another TTL: by a Backend of its own. The TTL is the Backend's, and
//     two Backends of one service exclude each other whatever their TTLs are.
//   - See what becomes of locks, above all renewals that fail: Observe.
//   - Write a lock of one's own: a Backend, and its example. Package locktest has the
//     laws as checks that anyone can run on their own backend. There is one package
//     per lock service below.
//
// # Zero values
//
// The zero Grant is none. A Token of 0 in a grant says that the service gives out no
// ordered number: the lock excludes others as far as a lock can, and no resource can be
// fenced by it. The zero Mode is fence.Exclusive.
//
// # Costs
//
// Do asks the service twice, to lock and to unlock, and has one goroutine while f runs.
// Multi does so for each scope. Reenter asks the service once for all who hold the lock
// together, and has one goroutine for each of them. Lead costs what Do costs, once a term.
// Permits asks for one slot after the other, and has n places in queues while it waits. The
// Backend says what a renewal costs.
//
// # Stability
//
// It is as that of package fence. An interface that others implement (Backend, Tenure)
// gets no further method: what a service can do beyond it is an interface of its own,
// which is found by assertion.
//
// # Outcomes
//
// What is known after a call that failed is one notion here and in package fence:
// fence.Outcome, which fence.OutcomeOf reads off an error. The calls of this package,
// and how they end:
//
//	call             error                             outcome
//	Lock, RLock      nil                               definite: the lock is held
//	TryLock,         ErrLocked                         definite: nothing is held, and nothing left
//	TryRLock         *UnknownError                     unknown: nothing is held; the service may
//	                                                   count the caller in, for the TTL
//	                 another                           definite for the packages below: nothing
//	                                                   is held, and nothing left
//	Unlock           nil                               definite: the lock is free
//	                 ErrLost                           lost: nothing was freed
//	                 *UnknownError                     unknown: the lock is free within the TTL
//	Extend           nil                               definite: the lease is longer
//	                 ErrLost                           lost: nothing was extended
//	                 *UnknownError                     unknown: Until is as it was
//	Tenure.Err       nil                               current, as far as is known, or unlocked
//	                 ErrLost                           lost: the service said so
//	                 ErrCutOff                         cut off: nobody on this side knows
//	Do, Multi        nil                               definite: f ran, and all are free
//	                 that of Lock                      as above; f did not run
//	                 those of f, Tenure.Err, Unlock    the least certain one
//	Lead             nil                               definite: f's work is done, and the lock free
//	                 another                           of the last term or attempt, as above
//
// The package needs the standard library and package fence only.
package lock
