package lab

import (
	"cmp"
	"slices"
)

// claim is what a client has of one lock, or had.
type claim struct {
	lock   string // its name, as the lock service knows it
	tenure string // the last that it was granted
	queued string // the tenure that it waits for since it queued
	queues bool   // the lock is asked for, and not waited for
	asked  int    // how often its client has said that it asks for the lock
}

func (c *clientState) claim(lock string) *claim {
	for _, k := range c.claims {
		if k.lock == lock {
			return k
		}
	}
	k := &claim{lock: lock}
	c.putFirst(k)
	return k
}

// latest is the tenure that the client was granted last, or has queued for since.
func (k *claim) latest() string { return cmp.Or(k.queued, k.tenure) }

// last is what the client has of the lock that a step is about which names none, as its
// agent understands the step: that of the last grant, or place in a queue, which it has
// not let go of.
func (c *clientState) last() *claim {
	if len(c.claims) == 0 {
		return new(claim)
	}
	return c.claims[len(c.claims)-1]
}

// putLast is told of a grant, or a place in a queue.
func (c *clientState) putLast(k *claim) { c.claims = append(c.without(k), k) }

// putFirst is told that the client lets go of a lock, or that it has asked for nothing
// but that.
func (c *clientState) putFirst(k *claim) { c.claims = slices.Insert(c.without(k), 0, k) }

func (c *clientState) without(k *claim) []*claim {
	return slices.DeleteFunc(c.claims, func(other *claim) bool { return other == k })
}
