package scenario

import (
	"fmt"
	"slices"
)

// story follows the steps of a variant: what cannot happen, like the resuming of
// a client that was not paused, is an error of the file, found before anything
// runs. It refuses only what is certain.
type story struct {
	variant *Variant
	names   []string // of its clients
	clients map[string]*fate

	storageDead, leaderStopped, saved bool

	counts   bool
	requests int             // that the storage can be sent, without those of a count
	written  map[string]bool // keys
}

// fate is what has become of a client.
type fate struct {
	stopped Verb // Pause, GC or Kill: why it cannot act
	timed   bool // the pause ends by itself
	told    bool // while it stands still, to finish what it began
	loaded  bool

	asked    bool // for the lock, at any time: it may have a tenure
	queued   bool
	begun    bool
	last     int  // so many writes could be tried again
	retrying bool // there is something that could be

	cut     []string // the services that it is cut off from
	delayed bool
	sent    bool // something that waits in the network
}

// follow returns the first step that cannot happen.
func (s *story) follow(steps []placedStep) *misplaced {
	s.clients, s.written = make(map[string]*fate), make(map[string]bool)
	for _, name := range s.names {
		s.clients[name] = &fate{}
	}
	var died placedStep
	for _, step := range steps {
		if wrong := s.step(step.Step); wrong != "" {
			return errorAt(step.text.node, "%s", wrong)
		}
		if step.Verb == Kill && step.Client == TargetStorage {
			died = step
		}
	}
	if s.storageDead {
		return errorAt(died.text.node, "the story ends with the storage dead, and nobody can look what it holds: it needs a step \"gcsim: restart storage\"")
	}
	return nil
}

// step says what is wrong with a step, "" if nothing is.
func (s *story) step(step Step) string {
	if step.Verb == Count {
		return s.count(step)
	}
	f, is := s.clients[step.Client]
	switch {
	case !is:
		return s.server(step)
	case f.stopped == Kill && !slices.Contains([]Verb{AwaitExpiry, Revoke, Deliver}, step.Verb):
		return step.Client + " was killed before: nothing can be done with it"
	case step.Verb == Deliver && s.storageDead:
		return "the storage is dead, and what waits would come to nobody: it needs a step \"gcsim: restart storage\" before"
	case step.Actor == step.Client:
		return s.act(step, f)
	}
	return s.suffer(step, f)
}

// count is a step of all clients.
func (s *story) count(step Step) string {
	if s.storageDead {
		return "all clients count, but the storage is dead: it needs a step \"gcsim: restart storage\" before"
	}
	for _, name := range s.names {
		switch f := s.clients[name]; {
		case f.stopped != "":
			return fmt.Sprintf("all clients count, but %s cannot (%s)", name, f.stopped)
		case f.queued || f.begun:
			return fmt.Sprintf("all clients count, but %s is in the middle of something else", name)
		case s.lacksSession(name):
			return fmt.Sprintf("all clients count, but %s shares the session of %s, which has none yet", name, s.variant.Clients[name].Session)
		}
	}
	for _, f := range s.clients {
		f.asked = true
	}
	s.counts, s.written[step.Key] = true, true
	return ""
}

// server is a step about etcd, its leader or the storage.
func (s *story) server(step Step) string {
	members := s.variant.World.Etcd.Members
	switch {
	case step.Verb == Pause && members < 3:
		return fmt.Sprintf("etcd has %d members, and nobody else could lead: it needs \"members: 3\"", members)
	case step.Verb == Pause && s.leaderStopped:
		return "the leader is stopped already"
	case step.Verb == Resume && !s.leaderStopped:
		return "the leader is not paused here"
	case step.Verb == Kill && s.storageDead:
		return "the storage is dead already"
	case step.Verb == Restart && !s.storageDead:
		return "the storage runs: it needs a step \"gcsim: kill storage\" before"
	case step.Verb == Restore && !s.saved:
		return "there is no snapshot: it needs a step \"gcsim: save etcd\" before"
	case step.Verb == Restore && members != 1:
		return fmt.Sprintf("etcd has %d members, and only one alone can be restored: it needs \"members: 1\"", members)
	}
	switch step.Verb {
	case Pause, Resume:
		s.leaderStopped = step.Verb == Pause
	case Kill, Restart:
		s.storageDead = step.Verb == Kill
	case Save:
		s.saved = true
	}
	return ""
}

// act is a step of a client.
func (s *story) act(step Step, f *fate) string {
	name := step.Client
	switch {
	case f.stopped != "" && (step.Verb != Finish || !step.Send || !f.begun):
		return fmt.Sprintf("%s stands still here (%s): it can do nothing, and be told nothing but to \"send finish\" what it has begun", name, f.stopped)
	case f.begun && step.Verb != Finish:
		return name + " is in the middle of what it has begun: it can do nothing else until it finishes"
	case step.Verb == Finish && !f.begun:
		return name + " has begun nothing here: it needs a \"begin …\" before"
	case f.queued && (step.Verb == Queue || step.Verb == TryLock):
		return name + " stands in the queue already: \"lock\" waits until the lock is its"
	case slices.Contains([]Verb{Lock, TryLock, Queue}, step.Verb) && s.lacksSession(name):
		owner := s.variant.Clients[name].Session
		return fmt.Sprintf("%s shares the session of %s, which has none yet: it needs a step \"%s: lock\" before", name, owner, owner)
	case (step.Verb == Unlock || step.Verb == AwaitLoss) && !f.asked:
		return name + " has asked for no lock before, and so has none"
	case step.Verb == Retry && !f.retrying:
		return name + " has done nothing before that it could try again"
	}
	s.did(step, f)
	return ""
}

// did notes what comes of a step of a client.
func (s *story) did(step Step, f *fate) {
	writes := 1
	if s.variant.Clients[step.Client].Change == ChangeSingly {
		writes = max(writes, len(step.Changes))
	}
	switch step.Verb {
	case Lock, TryLock, Unlock:
		f.asked, f.queued = true, false
		f.retrying = f.retrying || step.Verb == Unlock
	case Queue:
		f.asked, f.queued = true, true
	case Read:
		s.requests++
	case Write, Change, Delete, Begin:
		s.requests += writes
		f.last, f.retrying = max(f.last, writes), true
		f.begun = step.Verb == Begin
	case Finish:
		f.begun = false
	case Retry:
		s.requests += f.last
	}
	if step.Key != "" && step.Verb != Read {
		s.written[step.Key] = true
	}
	for _, c := range step.Changes {
		s.written[c.Key] = true
	}
	if step.Send {
		f.told = f.stopped != ""
		f.sent = f.sent || f.delayed && !f.told
	}
}

// lacksSession reports whether a client shares a session that cannot be there.
func (s *story) lacksSession(name string) bool {
	owner, shared := s.clients[s.variant.Clients[name].Session]
	return shared && !owner.asked
}

// suffer is a step about a client that is not its own.
func (s *story) suffer(step Step, f *fate) string {
	name := step.Client
	switch step.Verb {
	case Pause, Load, GC:
		switch {
		case f.stopped != "":
			return fmt.Sprintf("%s stands still already (%s)", name, f.stopped)
		case step.Verb == Load && f.begun:
			return name + " is in the middle of what it has begun: it can do nothing else until it finishes"
		case step.Verb == GC && !f.loaded:
			return fmt.Sprintf("a collection in %s would be over in a moment: it needs a step \"gcsim: load %s\" before", name, name)
		case step.Verb == Load:
			f.loaded = true
		default:
			f.stopped, f.timed = step.Verb, step.For > 0
		}
	case Kill:
		*f = fate{stopped: Kill, asked: f.asked, delayed: f.delayed, sent: f.sent}
	case Resume, Await:
		byItself := f.stopped == GC || f.timed
		switch {
		case f.stopped == "":
			return name + " does not stand still here"
		case step.Verb == Resume && byItself:
			return fmt.Sprintf("%s goes on by itself: \"gcsim: await %s\" waits for it", name, name)
		case step.Verb == Await && !byItself:
			return fmt.Sprintf("%s does not go on by itself: \"gcsim: resume %s\" lets it", name, name)
		}
		f.sent = f.sent || f.delayed && f.told
		f.stopped, f.timed, f.told = "", false, false
	case Revoke, AwaitExpiry:
		if !f.asked {
			return name + " has asked for no lock before, and so has no lease"
		}
	default:
		return f.network(step)
	}
	return ""
}

// network is a step about what a client sends and is sent.
func (f *fate) network(step Step) string {
	name := step.Client
	switch step.Verb {
	case Partition, Deafen:
		if slices.Contains(f.cut, step.Service) {
			return fmt.Sprintf("%s is cut off from %s already", name, step.Service)
		}
		f.cut = append(f.cut, step.Service)
	case Heal:
		if len(f.cut) == 0 {
			return name + " is not cut off here: it needs a \"partition\" or a \"deafen\" before"
		}
		f.cut = nil
	case Delay:
		if f.delayed {
			return name + " is delayed already"
		}
		f.delayed = true
	case Deliver:
		switch {
		case !f.delayed:
			return fmt.Sprintf("%s is not delayed here: it needs a step \"gcsim: delay %s to storage\" before", name, name)
		case !f.sent:
			return fmt.Sprintf("nothing of %s waits in the network: it needs a step \"%s: send …\" before", name, name)
		}
		f.delayed, f.sent = false, false
	}
	return ""
}
