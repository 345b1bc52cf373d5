package model

import "slices"

// State is where a world stands; the zero State is that before the story. It is flat, so that states can be copied,
// compared and hashed.
//
// Numbers that are drawn, tenures and requests are counted from 1, and 0 is none.
type State struct {
	Drawn  uint8           // numbers so far
	Grants uint8           // tenures so far
	Holder uint8           // the tenure that holds the lock
	Owner  uint8           // its client
	Number uint8           // that was drawn for it
	Leased bool            // it ends if nobody renews it
	Row    bool            // somebody has released the lock
	Saved  uint8           // Drawn at the snapshot, and 1; 0: there is none; spent: there can be none any more
	Nodes  [MaxNodes]uint8 // the tenure that each node has
	Dead   uint8           // nodes, a bit each

	Clients [MaxClients]client
	Keys    [MaxKeys]key
	Marks   [MaxKeys + 1]mark // of the lock, and of each key

	StorageDead bool

	// What the judgement needs of the past.
	Written uint8 // keys that belong together and that a step writes, a bit each
	Used    uint8 // the latest tenure under which something was done
	Worked  uint8 // clients that did something under it, a bit each
}

type client struct {
	Life    life
	Cut     bool // from the lock service
	Deaf    bool // to its answers
	Delayed bool // what it sends to the storage waits
	Unaware bool // it stood still when it lost the lock, and may not know yet

	Ticket uint8 // drawn when it asked for the lock for which it waits
	Has    uint8 // the tenure that it was told of, until it released the lock
	Token  uint8 // of that
	Again  bool  // it has the lock twice
	Outer  uint8 // and what it showed before that
	Place  place
	Doing  Request // before which it stands; Lock: the second step of taking the lock
	Last   Request // the last one of unknown outcome
	Sent   [maxSent]Request

	Asked    uint8 // its requests so far
	Sequence uint8 // of its requests in this tenure
}

// kill leaves of a client what others have of it.
func (c *client) kill() {
	*c = client{Life: dead, Cut: c.Cut, Deaf: c.Deaf, Delayed: c.Delayed, Ticket: c.Ticket, Sent: c.Sent, Asked: c.Asked}
	for _, r := range c.requests() {
		r.Unheard = r.Verb != 0
	}
}

// waits reports whether a client waits for the lock.
func (c *client) waits() bool { return c.Ticket != 0 && c.Place != left }

// believes reports whether a client was granted the lock, and has not learned that it lost it.
func (s *State) believes(i int) bool {
	c := &s.Clients[i]
	return c.Has != 0 && (c.Has == s.Holder || c.Unaware)
}

// Runs reports whether a client runs.
func (s *State) Runs(client int) bool { return s.Clients[client].Life == runs }

// Rests reports whether a story can end here: nobody stands in the middle of something, and the storage can be asked.
func (s *State) Rests(w *Settings) bool {
	return !s.StorageDead && s.midway(w) < 0 && !slices.ContainsFunc(s.Clients[:], func(c client) bool { return c.Doing.Verb != 0 })
}

// linked reports whether a client and the lock service hear each other.
func (c *client) linked() bool { return !c.Cut && !c.Deaf }

// reaches reports whether a client hears of what it asks the lock service.
func (s *State) reaches(w *Settings, i int) bool { return s.Clients[i].linked() && s.answers(w) }

// place is a client's place in the queue.
type place uint8

const (
	kept place = iota
	left       // the client waits no more, and its place stays
	lost       // the client waits, and has no place until a lease ends
	over       // the client waits no more, and is told so where it asks for the lock the next time
)

type life uint8

const (
	runs life = iota
	stands
	dead
)

// Request is one to the storage, or an unlock.
type Request struct {
	Verb     Verb
	Key      uint8
	Token    uint8
	Tenure   uint8
	Sequence uint8
	Asked    uint8
	Parts    uint8 // the key with which a change goes on that is made key by key
	Unheard  bool  // its client was killed, and hears no answer
}

type mark struct{ Token, Sequence uint8 }

// key is what the judgement needs of a key.
type key struct {
	Known  bool // a client knows what it holds, or that it holds nothing
	Holds  bool
	Tenure uint8 // of its last change
	Wrote  bool  // it was changed
	Half   bool  // the change is not complete
	By     uint8 // client, from 1, and request of the newest acknowledged change
	Newest uint8
	Under  uint8 // and its tenure
}

// able reports whether the client of a step can act, if it does so itself: one that stands before something does nothing else.
func (s *State) able(step Step) bool {
	c := &s.Clients[step.Client]
	return step.Verb >= PauseClient || c.Life == runs && (c.Doing.Verb != 0) == (step.Verb == Finish)
}

// lapses reports whether the tenure of the lock's holder can end by itself.
func (s *State) lapses(w *Settings) bool {
	if s.Holder == 0 || !s.Leased {
		return false
	}
	if w.Kept && s.Clients[s.Owner].Ticket != 0 {
		return false // it was given to a place in the queue, and nobody took it
	}
	switch w.Clients[s.Owner].Renews {
	case RenewsNever:
		return true
	case Stays:
		return false
	case Lasts:
		return s.Clients[s.Owner].Life == dead
	}
	untold := w.Clients[s.Owner].Halfway && s.Clients[s.Owner].Doing.Verb == Lock
	return s.unkept() || untold // nobody renews what nobody was told of
}

// unkept reports whether the holder can neither renew the lock nor release it.
func (s *State) unkept() bool {
	c := &s.Clients[s.Owner]
	return c.Life != runs || c.Cut
}

// hears reports whether the holder is about to hear that it was granted the lock for which it waits. Another step that
// comes before that would be a race.
func (s *State) hears(w *Settings) bool {
	c := &s.Clients[s.Owner]
	return s.Holder != 0 && c.waits() && c.Doing.Verb == 0 && c.Life == runs && s.reaches(w, int(s.Owner))
}

// stuck reports whether nothing ends the holder's tenure, though nobody keeps it.
func (s *State) stuck(w *Settings) bool {
	return s.Holder != 0 && (s.unkept() && !s.lapses(w) || s.Clients[s.Owner].Place == left)
}

// MaxToken is the highest token, and high what sets unordered tokens of some clients above those of others.
const (
	MaxToken = 0xff
	high     = 0x80
)

// token is what a client shows now.
func (s *State) token(w *Settings, i int) uint8 {
	c, of := &s.Clients[i], w.Clients[i].Token
	switch {
	case of == TokenMax:
		return MaxToken
	case c.Has == 0 && c.waits():
		return c.Ticket
	case c.Has == 0:
		return 0
	case of == TokenAgain:
		return s.Drawn
	}
	return c.Token
}
