package verdict

import "github.com/fencelab/fencelab/internal/history"

// question is a client's request for a lock. Only the answer tells the client of its tenure.
type question struct {
	gaveUp bool // the answer is that it did not get the lock, or does not know
	killed bool // its client was, since it asked
}

type questions struct {
	open  map[asked][]*question // that were not answered by a grant
	of    map[string]*question  // tenure → the one that it comes of; nil: there is none
	known map[word]bool         // of which clients were told so far
}

// word is what a client is told: that it has a lock in a tenure.
type word struct{ client, tenure string }

// hear takes in that a client asks for a lock, or is told what became of that.
func (qs *questions) hear(e history.Event) {
	of := asked{e.Lane, e.Scope}
	switch {
	case e.Kind == history.KindInvoke:
		qs.open[of] = append(qs.open[of], new(question))
	case e.Kind == history.KindOK:
		delete(qs.open, of)
		qs.known[word{e.Lane, e.Tenure}] = true
	case e.Reason == "held": // nobody was asked
	default:
		for _, q := range qs.open[of] {
			q.gaveUp = true
		}
	}
}

// kill takes in that a client is killed: no answer reaches it any more.
func (qs *questions) kill(client string) {
	for of, open := range qs.open {
		for _, q := range open {
			q.killed = q.killed || of.client == client
		}
	}
}

// come takes in that a tenure comes: of the last question that its client has.
func (qs *questions) come(e history.Event) {
	if open := qs.open[asked{e.Client, e.Scope}]; len(open) > 0 {
		qs.of[e.Tenure] = open[len(open)-1]
	}
}

// givenUp: its client was told that it has not got the lock, and does not know of the tenure.
func (qs *questions) givenUp(t *tenure) bool {
	q := qs.of[t.name]
	return q != nil && q.gaveUp && !qs.known[word{t.client, t.name}]
}

// ofLock: a client asks for a lock, or is told what became of that.
func ofLock(e history.Event) bool {
	switch e.Kind {
	case history.KindInvoke, history.KindOK, history.KindFail, history.KindUnknown:
		return e.Op == history.OpLock || e.Op == history.OpTryLock
	}
	return false
}
