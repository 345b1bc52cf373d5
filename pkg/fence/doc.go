// Package fence checks fencing tokens: it lets a resource refuse the writes of
// a lock holder that was paused, lost its lock without knowing, and woke up
// again.
//
// A lock service can only say who may hold a lock. The resource itself has to
// refuse what comes from an earlier holder, by the token that came with the
// grant: see Mark.Admit for the rule, Register for a ready store of marks in
// memory, the packages below for particular technologies, and package fencetest
// for the laws that every fenced store obeys. A lock of readers and writers has
// claims of two modes; see Mode.
//
// Tokens order requests; they permit nothing. Who may write at all is a matter
// for authentication.
//
// The package needs the standard library only.
package fence
