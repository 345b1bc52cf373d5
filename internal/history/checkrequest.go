package history

import (
	"cmp"
	"fmt"
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
	case e.Request == "" && !AsksStorage(e.Op): // of the lock service
	case isAnswer(e.Kind):
		c.answered(e)
	}
}

func isStorage(k Kind) bool {
	return k == KindApplied || k == KindRefused || k == KindDuplicate || k == KindUnanswered
}

func (c *checker) invoked(e Event) {
	if a := c.asked[e.Request]; a != nil && a.invoke.Line != c.line {
		c.contradicts(a.invoke.Line, ProblemRequest, "%s names its request %q, as that line does: no two requests have the same name", e.Lane, e.Request)
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
	a := c.asked[e.RetryOf]
	if a == nil || a.invoke.Line >= c.line || a.invoke.RetryOf != "" {
		return false
	}
	first := a.invoke.Event
	return first.Lane == e.Lane && first.Op == e.Op && first.Tenure == e.Tenure && first.Scope == e.Scope && first.Sequence == e.Sequence &&
		first.Key == e.Key && first.Value == e.Value && slices.Equal(first.Changes, e.Changes)
}

func (c *checker) isPart(e Event) bool {
	a := c.asked[e.PartOf]
	return a != nil && a.invoke.Line <= c.line && a.invoke.PartOf == e.PartOf && a.invoke.Lane == e.Lane && e.Op == OpWrite &&
		slices.Equal(a.invoke.Changes, e.Changes) && slices.Contains(e.Changes, Change{e.Key, e.Value})
}

func (c *checker) answered(e Event) {
	a := c.asked[e.Request]
	switch {
	case e.Request == "" && e.Kind == KindFail: // it looked, and sent nothing
	case e.Request == "":
		c.wrong(ProblemRequest, "%s was answered about a %s that has no request", e.Lane, e.Op)
	case a == nil:
		c.wrong(ProblemRequest, "%s was answered about %q, and nobody asked for that", e.Lane, e.Request)
	case a.answered != 0:
		c.contradicts(a.answered, ProblemRequest, "%q is answered a second time", e.Request)
	case a.invoke.Lane != e.Lane || a.invoke.Op != e.Op:
		c.contradicts(a.invoke.Line, ProblemRequest, "%s was answered about %q, a %s, which is a %s of %s", e.Lane, e.Request, e.Op, a.invoke.Op, a.invoke.Lane)
	case AsksStorage(e.Op):
		c.answeredByStorage(e, a)
	}
	if a != nil && a.answered == 0 {
		a.answered = c.line
	}
}

// answeredByStorage holds what a client was told against what it asked, and what the storage tells.
func (c *checker) answeredByStorage(e Event, a *asking) {
	refused := slices.Contains(refusals, e.Reason) && e.Kind == KindFail
	applied, refusal, duplicate := a.as(KindApplied), a.as(KindRefused), a.as(KindDuplicate)
	switch {
	case !isAbout(e, a.invoke.Event):
		c.contradicts(a.invoke.Line, ProblemRequest, "%s was answered about %q as if it had asked for something else, or by another claim", e.Lane, e.Request)
	case e.Kind != KindUnknown && a.did() == KindUnanswered:
		c.contradicts(a.told[0].Line, ProblemRequest, "%s was told what became of %q, and the storage gave no answer to that", e.Lane, e.Request)
	case e.Kind == KindOK && e.Op == OpRead && applied == nil:
		c.wrong(ProblemRequest, "%s was told what %q found, and the storage's account does not have that read", e.Lane, e.Request)
	case e.Kind == KindOK && e.Op == OpRead && (e.Value != applied.Value || e.Missing != applied.Missing):
		c.contradicts(applied.Line, ProblemRequest, "%s was told that %q found %s, and by the storage it found %s", e.Lane, e.Request, found(e), found(applied.Event))
	case refused && e.Reason != reasonInvalid && a.did() == "":
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

func found(e Event) string {
	if e.Missing {
		return "nothing"
	}
	return strconv.Quote(e.Value)
}

// isAbout reports whether an answer can be to a question. What it leaves out does not matter.
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

// reasonInvalid: what is no valid token the storage may refuse at once, and tell nothing of it.
const reasonInvalid = "invalid"

func (c *checker) done(e Event) {
	a := c.asked[e.Request]
	switch {
	case e.Request == "":
		c.wrong(ProblemRequest, "the storage tells of a %s of %s that has no request", e.Op, e.Key)
	case a == nil:
		c.wrong(ProblemRequest, "the storage tells of %q, and no client says that it asked for that", e.Request)
	case !isOf(e, a.invoke.Event):
		c.contradicts(a.invoke.Line, ProblemRequest, "the storage tells of %q as a %s of %s, and %s says that it asked for something else", e.Request, e.Op, e.Key, a.invoke.Lane)
	case c.run.Version >= 2 && !sameClaim(e, a.invoke.Event):
		asked := a.invoke.Event
		c.contradicts(a.invoke.Line, ProblemRequest, "%s says that it asked for %q with %s (sequence %d) in the scope %q, %v, and the storage was asked with %s (%d) in %q, %v",
			asked.Lane, e.Request, tokenInWords(asked.Token), asked.Sequence, asked.Scope, asked.Mode, tokenInWords(e.Token), e.Sequence, e.Scope, e.Mode)
	case e.Client != "" && e.Client != a.invoke.Lane || e.Tenure != "" && e.Tenure != a.invoke.Tenure:
		c.contradicts(a.invoke.Line, ProblemRequest, "the storage tells of %q as one of %s, and %s asked for it", e.Request, strings.TrimSpace(e.Client+" "+e.Tenure), strings.TrimSpace(a.invoke.Lane+" "+a.invoke.Tenure))
	case a.other(e) != 0:
		c.contradicts(a.other(e), ProblemRequest, "the storage tells of %q in several ways, here that it was %s, as if %s had sent it again", e.Request, toldAs[e.Kind], a.invoke.Lane)
	case a.keys[e.Key] != 0:
		c.contradicts(a.keys[e.Key], ProblemRequest, "the storage tells of %q and %s a second time, as if %s had sent it again", e.Request, e.Key, a.invoke.Lane)
	}
	if a != nil {
		a.took(e, c.line)
	}
}

// other is an earlier line by which something else became of the request; 0: none.
func (a *asking) other(e Event) int {
	if e.Kind != a.did() {
		return a.told[0].Line
	}
	return a.mixed
}

func (a *asking) took(e Event, line int) {
	a.keys[e.Key] = cmp.Or(a.keys[e.Key], line)
	if a.mixed == 0 && e.Kind != a.did() {
		a.mixed = line
	}
}

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
			text := fmt.Sprintf("this has place %d of the storage's order, and nothing has place %d: something is missing", place, place-1)
			c.problems = append(c.problems, Problem{ProblemIndex, c.places[place], 0, text})
		}
		last = place
	}
	clear(c.places)
}
