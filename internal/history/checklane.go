package history

import (
	"maps"
	"slices"
)

// lane holds who tells something against what is whose to tell.
func (c *checker) lane(e Event) {
	service := c.run.LockService()
	switch {
	case e.Kind == KindRun:
		c.laneOfRun()
	case isClients(e.Kind) && !c.isClient(e.Lane):
		c.wrong(ProblemLane, "a client tells this, and its lane %q is none of a client: no client has that name", e.Lane)
	case (e.Kind == KindGranted || e.Kind == KindQueued) && !c.isClient(e.Client):
		c.wrong(ProblemLane, "%s is a tenure of the client %q: no client has that name", e.Tenure, e.Client)
	case isTenure(e.Kind) && e.Lane != service:
		c.contradicts(1, ProblemLane, "%q tells of the tenure %s, and the lock service, whose that is to tell, is %q", e.Lane, e.Tenure, service)
	case (isClients(e.Kind) || isFault(e.Kind)) && c.isClient(e.Lane) && e.Client != "" && e.Client != e.Lane:
		c.wrong(ProblemLane, "it stands in the lane of %s, and is of the client %s", e.Lane, e.Client)
	}
}

// laneOfRun looks whether the lock service and the clients that the run names can be called so.
func (c *checker) laneOfRun() {
	if s := c.run.LockService(); s == LaneStorage || s == LaneLab {
		c.wrong(ProblemLane, "the lock service is called %q, as another lane is", s)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(c.run.Tokens)), slices.Collect(maps.Keys(c.run.Bounds))) {
		if !c.isClient(name) {
			c.wrong(ProblemLane, "the run names a client %q: no client has that name", name)
			return
		}
	}
}

func (c *checker) isClient(name string) bool {
	return name != LaneStorage && name != LaneLab && name != c.run.LockService()
}

func isTenure(k Kind) bool { return k == KindGranted || k == KindEnded || k == KindQueued }

func isFault(k Kind) bool {
	return slices.Contains([]Kind{KindPause, KindResume, KindKill, KindRestart, KindNetwork}, k)
}

func (c *checker) accounts() {
	var asked, request, storage, refused bool
	for i, e := range c.events {
		c.line = i + 1
		switch {
		case c.run.Unlocked && e.OfLock():
			c.contradicts(1, ProblemAccount, "it tells of a lock, and by the run no client asks for one")
		case e.Lane == LaneStorage:
			storage = true
		}
		asked = asked || e.Kind == KindInvoke
		refused = refused || isAnswer(e.Kind) && AsksForLock(e.Op)
	}
	if !asked && !c.run.Unlocked {
		c.wrong(ProblemAccount, "the history is over, and no client asked for anything: the clients' account is missing")
	}
	for i, e := range c.events {
		if c.line = i + 1; request || !sends(e) {
			continue
		}
		request = true
		if !storage {
			c.wrong(ProblemAccount, "%s asks something of the storage, which tells nothing in the whole history: its account is missing", e.Lane)
		}
		if len(c.tenures) == 0 && !refused && !c.run.Unlocked {
			c.wrong(ProblemAccount, "%s asks something of the storage, and in the whole history there is no tenure: the lock service's account is missing (of a run in which no client asks for a lock, the run's \"unlocked\" says so)", e.Lane)
		}
	}
}

// OfLock reports whether a client asks for a lock, or the lock service tells of one.
func (e Event) OfLock() bool {
	return isTenure(e.Kind) || e.Kind == KindInvoke && (AsksForLock(e.Op) || e.Op == OpCount)
}

func sends(e Event) bool { return e.Kind == KindInvoke && AsksStorage(e.Op) && e.Request != "" }

func (c *checker) final(e Event) {
	before := c.finals[e.Key]
	switch {
	case e.Kind == KindFinal && before != 0:
		c.contradicts(before, ProblemFinal, "what %s holds at the end is told a second time", e.Key)
	case e.Kind == KindFinal:
		c.finals[e.Key] = c.line
	case e.Kind == KindApplied && e.Op != OpRead && before != 0:
		c.contradicts(before, ProblemFinal, "%s is changed, and what it holds at the end was told before", e.Key)
	}
}
