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
// The package needs the standard library and package fence only.
package lock
