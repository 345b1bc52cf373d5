package history

import (
	"maps"
	"slices"
)

// request holds the clients' word of requests against the storage's.
func (c *checker) request(i int, e Event) {
	switch {
	case isStorage(e.Kind):
		c.done(e)
	case e.Request == "" && !asksStorage(e.Op): // of the lock service
	case e.Kind == KindInvoke:
		c.invoked(i, e)
	case isAnswer(e.Kind):
		c.answered(e)
	}
}

// isStorage reports whether the storage tells what became of a request.
func isStorage(k Kind) bool {
	return k == KindApplied || k == KindRefused || k == KindDuplicate || k == KindUnanswered
}

func (c *checker) invoked(i int, e Event) {
	if a := c.asked[e.Request]; a != nil && a.at != i {
		c.wrong(ProblemRequest, "%s names its request %q, as line %d does: no two requests have the same name", e.Lane, e.Request, a.at+1)
		return
	}
	if e.RetryOf != "" && !c.retries(i, e) {
		c.wrong(ProblemRequest, "%q is to be a retry of %q, and no earlier first attempt of %s at the same is called so", e.Request, e.RetryOf, e.Lane)
	}
	if e.PartOf != "" && !c.isPart(i, e) {
		c.wrong(ProblemRequest, "%q is to be a part of the change that begins with %q, and no earlier write of %s begins one of which it could be a part", e.Request, e.PartOf, e.Lane)
	}
}

// retries reports whether there is the first attempt that a retry names.
func (c *checker) retries(i int, e Event) bool {
	a := c.asked[e.RetryOf]
	if a == nil || a.at >= i || a.invoke.RetryOf != "" {
		return false
	}
	first := a.invoke
	return first.Lane == e.Lane && first.Op == e.Op && first.Tenure == e.Tenure && first.Scope == e.Scope && first.Sequence == e.Sequence &&
		first.Key == e.Key && first.Value == e.Value && slices.Equal(first.Changes, e.Changes)
}

// isPart reports whether a write belongs to the change that it names.
func (c *checker) isPart(i int, e Event) bool {
	a := c.asked[e.PartOf]
	return a != nil && a.at <= i && a.invoke.PartOf == e.PartOf && a.invoke.Lane == e.Lane && e.Op == OpWrite &&
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
	case a.answered:
		c.wrong(ProblemRequest, "%q is answered a second time", e.Request)
	case a.invoke.Lane != e.Lane || a.invoke.Op != e.Op:
		c.wrong(ProblemRequest, "%s was answered about %q, a %s, which is a %s of %s", e.Lane, e.Request, e.Op, a.invoke.Op, a.invoke.Lane)
	case e.Kind != KindUnknown && a.did == KindUnanswered:
		c.wrong(ProblemRequest, "%s was told what became of %q, and the storage gave no answer to that", e.Lane, e.Request)
	case e.Kind == KindOK && e.Op == OpRead && !a.applied:
		c.wrong(ProblemRequest, "%s was told what %q found, and the storage's account does not have that read", e.Lane, e.Request)
	case e.Kind == KindFail && a.did == "" && slices.Contains(toldRefusals, e.Reason):
		c.wrong(ProblemRequest, "%s was told that %q was refused (%s), and the storage's account has nothing of it", e.Lane, e.Request, e.Reason)
	}
	if a != nil {
		a.answered = true
	}
}

// toldRefusals are the reasons for which the storage's account always has a
// refusal. What is no valid token it may refuse before it looks further.
var toldRefusals = []string{"stale", "missing", "ahead"}

// done takes in what the storage tells of a request.
func (c *checker) done(e Event) {
	a := c.asked[e.Request]
	if a != nil {
		a.mixed = a.mixed || e.Kind != a.did
	}
	switch {
	case e.Request == "":
		c.wrong(ProblemRequest, "the storage tells of a %s of %s that has no request", e.Op, e.Key)
	case a == nil:
		c.wrong(ProblemRequest, "the storage tells of %q, and nobody asked for that", e.Request)
	case !isOf(e, a.invoke):
		c.wrong(ProblemRequest, "the storage tells of %q as a %s of %s, and was asked for something else", e.Request, e.Op, e.Key)
	case c.run.Version >= 2 && !sameClaim(e, a.invoke):
		c.wrong(ProblemRequest, "the storage tells of %q with the token %d (sequence %d) in scope %q, %v, and its client of %d (%d) in %q, %v",
			e.Request, e.Token, e.Sequence, e.Scope, e.Mode, a.invoke.Token, a.invoke.Sequence, a.invoke.Scope, a.invoke.Mode)
	case a.mixed:
		c.wrong(ProblemRequest, "the storage tells of %q in several ways, here that it was %s: it can be one of them only", e.Request, toldAs[e.Kind])
	case a.keys[e.Key]:
		c.wrong(ProblemRequest, "the storage tells of %q and %s a second time", e.Request, e.Key)
	}
	if a != nil {
		a.keys[e.Key] = true
	}
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
			c.wrong(ProblemIndex, "place %d of the storage's order is that of line %d already", e.Index, before)
		}
	}
}

// gaps looks for places that nothing has, at the end of a life of the storage.
func (c *checker) gaps() {
	last := int64(0)
	for _, place := range slices.Sorted(maps.Keys(c.places)) {
		if place > last+1 {
			c.wrongAt(c.places[place], ProblemIndex, "this has place %d of the storage's order, and nothing has place %d: something is missing", place, place-1)
		}
		last = place
	}
	clear(c.places)
}
