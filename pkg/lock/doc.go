// Package lock takes a distributed lock and hands out what makes it safe: a
// Grant with a fencing token, to be shown to the resource with each request.
//
// A lock service alone cannot keep a holder out that was paused, lost its lock
// without knowing, and woke up again: between the moment at which the tenure
// ends and the moment at which the holder learns of it, both the old holder and
// the new one believe that they hold the lock. The resource decides, by the
// token; see package fence.
//
// Do is all that most programs need. Backend is what a lock service has to
// offer; there is one package per service below, and package locktest has the
// laws as checks that anyone can run on their own backend.
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
//	                 another                           nothing is held, and nothing left
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
//
// The package needs the standard library and package fence only.
package lock
