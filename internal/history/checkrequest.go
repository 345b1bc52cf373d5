package history

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// request holds the clients' word of requests against the storage's.
func (c *checker) request(e Event) {
	switch {
	case isStorage(e.Kind):
		c.done(e)
	case e.Kind == KindInvoke:
		c.invoked(e)
	case e.Request == "" && !asksStorage(e.Op): // of the lock service
	case isAnswer(e.Kind):
		c.answered(e)
	}
}

// isStorage reports whether the storage tells what became of a request.
func isStorage(k Kind) bool {
	return k == KindApplied || k == KindRefused || k == KindDuplicate || k == KindUnanswered
}

func (c *checker) invoked(e Event) {
	if q := c.whole.Request(e.Request); q.Invoke.Came() && q.Invoke.Line != c.line {
		c.contradicts(q.Invoke.Line, ProblemRequest, "%s names its request %q, as that line does: no two requests have the same name", e.Lane, e.Request)
		return
	}
	if e.RetryOf != "" && !c.retries(e) {
		c.wrong(ProblemRequest, "%q is to be a retry of %q, and no earlier first attempt of %s at the same is called so", e.Request, e.RetryOf, e.Lane)
	}
	if e.PartOf != "" && !c.isPart(e) {
		c.wrong(ProblemRequest, "%q is to be a part of the change that begins with %q, and no earlier write of %s begins one of which it could be a part", e.Request, e.PartOf, e.Lane)
	}
}

// retries reports whether there is the first attempt that a retry names.
func (c *checker) retries(e Event) bool {
	first := c.now.Request(e.RetryOf).Invoke
	return first.Came() && first.RetryOf == "" && first.Lane == e.Lane && first.Op == e.Op && first.Tenure == e.Tenure && first.Scope == e.Scope && first.Sequence == e.Sequence &&
		first.Key == e.Key && first.Value == e.Value && slices.Equal(first.Changes, e.Changes)
}

// isPart reports whether a write belongs to the change that it names.
func (c *checker) isPart(e Event) bool {
	first := c.whole.Request(e.PartOf).Invoke
	return first.Came() && first.Line <= c.line && first.PartOf == e.PartOf && first.Lane == e.Lane && e.Op == OpWrite &&
		slices.Equal(first.Changes, e.Changes) && slices.Contains(e.Changes, Change{e.Key, e.Value})
}

func (c *checker) answered(e Event) {
	q, before := c.whole.Request(e.Request), c.now.Request(e.Request).Answer
	switch {
	case e.Request == "" && e.Kind == KindFail: // it looked, and sent nothing
	case e.Request == "":
		c.wrong(ProblemRequest, "%s was answered about a %s that has no request", e.Lane, e.Op)
	case !q.Invoke.Came():
		c.wrong(ProblemRequest, "%s was answered about %q, and nobody asked for that", e.Lane, e.Request)
	case before.Came():
		c.contradicts(before.Line, ProblemRequest, "%q is answered a second time", e.Request)
	case q.Invoke.Lane != e.Lane || q.Invoke.Op != e.Op:
		c.contradicts(q.Invoke.Line, ProblemRequest, "%s was answered about %q, a %s, which is a %s of %s", e.Lane, e.Request, e.Op, q.Invoke.Op, q.Invoke.Lane)
	case asksStorage(e.Op):
		c.answeredByStorage(e, q)
	}
}

// answeredByStorage holds what a client was told of its request against what it asked for,
// and against what the storage tells.
func (c *checker) answeredByStorage(e Event, q *Request) {
	refused := slices.Contains(refusals, e.Reason) && e.Kind == KindFail
	applied, refusal, duplicate := q.as(KindApplied), q.as(KindRefused), q.as(KindDuplicate)
	switch {
	case !isAbout(e, q.Invoke.Event):
		c.contradicts(q.Invoke.Line, ProblemRequest, "%s was answered about %q as if it had asked for something else, or by another claim", e.Lane, e.Request)
	case e.Kind != KindUnknown && q.did() == KindUnanswered:
		c.contradicts(q.Told[0].Line, ProblemRequest, "%s was told what became of %q, and the storage gave no answer to that", e.Lane, e.Request)
	case e.Kind == KindOK && e.Op == OpRead && applied == nil:
		c.wrong(ProblemRequest, "%s was told what %q found, and the storage's account does not have that read", e.Lane, e.Request)
	case e.Kind == KindOK && e.Op == OpRead && (e.Value != applied.Value || e.Missing != applied.Missing):
		c.contradicts(applied.Line, ProblemRequest, "%s was told that %q found %s, and by the storage it found %s", e.Lane, e.Request, found(e), found(applied.Event))
	case refused && e.Reason != reasonInvalid && q.did() == "":
		c.wrong(ProblemRequest, "%s was told that %q was refused (%s), and the storage's account has nothing of it", e.Lane, e.Request, e.Reason)
	case refused && e.Op == OpRead && applied != nil:
		c.contradicts(applied.Line, ProblemRequest, "%s was told that %q was refused (%s), and the storage did it", e.Lane, e.Request, e.Reason)
	case refused && duplicate != nil:
		c.contradicts(duplicate.Line, ProblemRequest, "%s was told that %q was refused (%s), and by the storage it was done before", e.Lane, e.Request, e.Reason)
	case refused && refusal != nil && refusal.Reason != e.Reason:
		c.contradicts(refusal.Line, ProblemRequest, "%s was told that %q was refused (%s), and the storage refused it as %s", e.Lane, e.Request, e.Reason, refusal.Reason)
	case refused && refusal != nil && e.Mark != 0 && refusal.Mark != 0 && e.Mark != refusal.Mark:
		c.contradicts(refusal.Line, ProblemRequest, "%s was told that %q was refused by the mark %d, and by the storage the mark was %d", e.Lane, e.Request, e.Mark, refusal.Mark)
	}
}

// found says in words what a read found.
func found(e Event) string {
	if e.Missing {
		return "nothing"
	}
	return strconv.Quote(e.Value)
}

// isAbout reports whether an answer is about what was asked for. What it leaves out it
// does not say; the value of a read is what was found.
func isAbout(told, asked Event) bool {
	return (told.Key == "" || told.Key == asked.Key) &&
		(told.Value == "" || told.Value == asked.Value || told.Op == OpRead) &&
		(told.Changes == nil || slices.Equal(told.Changes, asked.Changes)) &&
		(told.Tenure == "" || told.Tenure == asked.Tenure) &&
		(told.Scope == "" || told.Scope == asked.Scope) &&
		(told.Token == 0 || told.Token == asked.Token) &&
		(told.Sequence == 0 || told.Sequence == asked.Sequence) &&
		(told.Mode == fence.Exclusive || told.Mode == asked.Mode) &&
		(told.RetryOf == "" || told.RetryOf == asked.RetryOf) &&
		(told.PartOf == "" || told.PartOf == asked.PartOf)
}

// reasonInvalid is the reason of a refusal that the storage's account may not have: what is
// no valid token it may refuse before it looks further.
const reasonInvalid = "invalid"

// done takes in what the storage tells of a request.
func (c *checker) done(e Event) {
	asked, before := c.whole.Request(e.Request).Invoke, c.now.Request(e.Request).Told
	other := slices.IndexFunc(before, func(told Entry) bool { return told.Kind != e.Kind })
	same := slices.IndexFunc(before, func(told Entry) bool { return told.Key == e.Key })
	switch {
	case e.Request == "":
		c.wrong(ProblemRequest, "the storage tells of a %s of %s that has no request", e.Op, e.Key)
	case !asked.Came():
		c.wrong(ProblemRequest, "the storage tells of %q, and nobody asked for that", e.Request)
	case !isOf(e, asked.Event):
		c.contradicts(asked.Line, ProblemRequest, "the storage tells of %q as a %s of %s, and was asked for something else", e.Request, e.Op, e.Key)
	case c.run.Version >= 2 && !sameClaim(e, asked.Event):
		c.contradicts(asked.Line, ProblemRequest, "the storage tells of %q with the token %d (sequence %d) in scope %q, %v, and its client of %d (%d) in %q, %v",
			e.Request, e.Token, e.Sequence, e.Scope, e.Mode, asked.Token, asked.Sequence, asked.Scope, asked.Mode)
	case e.Client != "" && e.Client != asked.Lane || e.Tenure != "" && e.Tenure != asked.Tenure:
		c.contradicts(asked.Line, ProblemRequest, "the storage tells of %q as one of %s, and %s asked for it", e.Request, strings.TrimSpace(e.Client+" "+e.Tenure), strings.TrimSpace(asked.Lane+" "+asked.Tenure))
	case other >= 0:
		c.contradicts(before[other].Line, ProblemRequest, "the storage tells of %q in several ways, here that it was %s: it can be one of them only", e.Request, toldAs[e.Kind])
	case same >= 0:
		c.contradicts(before[same].Line, ProblemRequest, "the storage tells of %q and %s a second time", e.Request, e.Key)
	}
}

// did is what the storage says of a request first.
func (q *Request) did() Kind {
	if len(q.Told) == 0 {
		return ""
	}
	return q.Told[0].Kind
}

// as is what the storage tells of a request by that kind first; nil: nothing.
func (q *Request) as(kind Kind) *Entry {
	if i := slices.IndexFunc(q.Told, func(told Entry) bool { return told.Kind == kind }); i >= 0 {
		return &q.Told[i]
	}
	return nil
}

// toldAs are the storage's kinds in words.
var toldAs = map[Kind]string{KindApplied: "applied", KindRefused: "refused", KindDuplicate: "done before", KindUnanswered: "left without an answer"}

// isOf reports whether what the storage tells of is what was asked for.
func isOf(told, asked Event) bool {
	if asked.Op == OpChange {
		return told.Op == OpWrite && slices.Contains(asked.Changes, Change{told.Key, told.Value})
	}
	return told.Op == asked.Op && told.Key == asked.Key && (told.Op != OpWrite || told.Value == asked.Value)
}

// sameClaim reports whether the storage was shown what the client says.
func sameClaim(told, asked Event) bool {
	return told.Scope == asked.Scope && told.Token == asked.Token && told.Sequence == asked.Sequence && told.Mode == asked.Mode
}

// index takes in the place of what the storage did.
func (c *checker) index(e Event) {
	switch {
	case e.Lane == LaneStorage && (e.Kind == KindKill || e.Kind == KindRestart):
		c.gaps()
	case !isStorage(e.Kind):
	case c.did && c.placed != (e.Index > 0):
		c.wrong(ProblemIndex, "some of what the storage did has a place in its order, and some has none")
	default:
		c.did, c.placed = true, e.Index > 0
		before, taken := c.places[e.Index]
		switch {
		case !taken:
			c.places[e.Index] = c.line
		case c.placed:
			c.contradicts(before, ProblemIndex, "place %d of the storage's order is that of another line already", e.Index)
		}
	}
}

// gaps looks for places that nothing has, at the end of a life of the storage.
func (c *checker) gaps() {
	last := int64(0)
	for _, place := range slices.Sorted(maps.Keys(c.places)) {
		if place > last+1 {
			c.wrongAt(c.places[place], 0, ProblemIndex, "this has place %d of the storage's order, and nothing has place %d: something is missing", place, place-1)
		}
		last = place
	}
	clear(c.places)
}
