package judge_test

import (
	"math"
	"slices"
)

// secondProblem is what makes that a history cannot be judged: its kind, a name for it,
// where it is, and against which line; nil: against none.
type secondProblem struct {
	kind, name string
	find       func(*secondHistory) []*secondEvent
	against    func(*secondHistory, *secondEvent) *secondEvent
}

// secondProblemRules are those of the table of what cannot be judged.
var secondProblemRules = []secondProblem{
	{"time", "time: never falls", (*secondHistory).timeFalls, lineBefore},
	{"tenure", "tenure: granted twice", (*secondHistory).grantedTwice, firstOfKind},
	{"tenure", "tenure: ends twice", (*secondHistory).endsTwice, firstOfKind},
	{"tenure", "tenure: ends before it was granted", (*secondHistory).endsUngranted, nil},
	{"tenure", "tenure: named, and never granted nor queued", (*secondHistory).namesUnknown, nil},
	{"tenure", "tenure: that of another client", (*secondHistory).namesAnothers, theTenure},
	{"tenure", "tenure: told of one that was not granted", (*secondHistory).toldUngranted, theTenure},
	{"tenure", "tenure: told of the lock without it", (*secondHistory).toldNoTenure, nil},
	{"tenure", "tenure: told of that of another lock", (*secondHistory).toldAnotherLock, theTenure},
	{"request", "request: missing", (*secondHistory).withoutRequest, nil},
	{"request", "request: nobody asked", (*secondHistory).notAsked, nil},
	{"request", "request: two have one", (*secondHistory).askedTwice, (*secondHistory).ask},
	{"request", "request: answered twice", (*secondHistory).answeredTwice, firstAnswer},
	{"request", "request: answered by another lane", (*secondHistory).answeredElsewhere, (*secondHistory).ask},
	{"request", "request: answered as another op", (*secondHistory).answeredAsAnother, (*secondHistory).ask},
	{"request", "request: another key, value or op done", (*secondHistory).didAnother, (*secondHistory).ask},
	{"request", "request: another claim shown", (*secondHistory).didByAnother, (*secondHistory).ask},
	{"request", "request: told of twice", (*secondHistory).didTwice, sameKeyBefore},
	{"request", "request: done and refused", (*secondHistory).didAndRefused, otherKindBefore},
	{"request", "request: told of what had no answer", (*secondHistory).toldUnanswered, firstDid},
	{"request", "request: read that the storage knows nothing of", (*secondHistory).readUnseen, nil},
	{"request", "request: refusal that the storage knows nothing of", (*secondHistory).refusalUnseen, nil},
	{"request", "request: retry_of", (*secondHistory).retryOfNothing, nil},
	{"request", "request: part_of", (*secondHistory).partOfNothing, nil},
	{"request", "request: part that the change lacks", (*secondHistory).partLacks, nil},
	{"index", "index: taken twice", (*secondHistory).indexTwice, samePlaceBefore},
	{"index", "index: empty", (*secondHistory).indexEmpty, nil},
	{"index", "index: only some have one", (*secondHistory).indexOfSome, nil},
	{"token", "token: told", (*secondHistory).toldToken, theTenure},
	{"token", "token: shown", (*secondHistory).shownToken, nil},
	{"token", "token: no entry", (*secondHistory).noEntry, tenureTold},
	{"end", "end: missing", (*secondHistory).noEnd, nil},
	{"end", "end: something after it", (*secondHistory).afterEnd, nil},
}

func lineBefore(h *secondHistory, e *secondEvent) *secondEvent { return h.events[e.line-2] }

// firstOfKind is the first line of the kind of a line about its tenure.
func firstOfKind(h *secondHistory, e *secondEvent) *secondEvent {
	return h.line(func(o *secondEvent) bool { return o.kind == e.kind && o.tenure == e.tenure })
}

// tenureTold is the tenure of which a client was told; nil where it was told of none.
func tenureTold(h *secondHistory, e *secondEvent) *secondEvent {
	if !e.toldOfLock() {
		return nil
	}
	return theTenure(h, e)
}

func firstAnswer(h *secondHistory, e *secondEvent) *secondEvent {
	return h.line(func(o *secondEvent) bool { return o.answers() && sameRequest(o, e) })
}

// firstDid is what the storage tells first of a request.
func firstDid(h *secondHistory, e *secondEvent) *secondEvent {
	return h.line(func(o *secondEvent) bool { return o.did() && sameRequest(o, e) })
}

func sameKeyBefore(h *secondHistory, e *secondEvent) *secondEvent {
	return h.line(func(o *secondEvent) bool { return o.did() && sameRequest(o, e) && o.key == e.key })
}

func otherKindBefore(h *secondHistory, e *secondEvent) *secondEvent {
	return h.line(func(o *secondEvent) bool { return o.did() && sameRequest(o, e) && o.kind != e.kind })
}

func samePlaceBefore(h *secondHistory, e *secondEvent) *secondEvent {
	did := h.sinceStart(e)
	return did[slices.IndexFunc(did, func(o *secondEvent) bool { return o.index == e.index })]
}

func (h *secondHistory) timeFalls() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.line > 1 && e.at < h.events[e.line-2].at })
}

// before says whether an earlier line is such an event.
func (h *secondHistory) before(e *secondEvent, yes func(earlier *secondEvent) bool) bool {
	return slices.ContainsFunc(h.events[:e.line-1], yes)
}

// again is the events of which yes is true and for which an earlier one is the same.
func (h *secondHistory) again(yes func(*secondEvent) bool, same func(a, b *secondEvent) bool) []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return yes(e) && h.before(e, func(earlier *secondEvent) bool { return yes(earlier) && same(earlier, e) })
	})
}

func sameTenure(a, b *secondEvent) bool { return a.tenure == b.tenure }

func sameRequest(a, b *secondEvent) bool { return a.request != "" && a.request == b.request }

func (h *secondHistory) grantedTwice() []*secondEvent {
	return h.again(func(e *secondEvent) bool { return e.kind == "granted" }, sameTenure)
}

func (h *secondHistory) endsTwice() []*secondEvent {
	return h.again(func(e *secondEvent) bool { return e.kind == "ended" }, sameTenure)
}

func (h *secondHistory) endsUngranted() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.kind == "ended" && !h.before(e, func(earlier *secondEvent) bool {
			return earlier.kind == "granted" && earlier.tenure == e.tenure
		})
	})
}

// known is what the lock service says of a tenure; nil if it says nothing.
func (h *secondHistory) known(tenure string) *secondEvent {
	if granted := h.of("granted", tenure); granted != nil {
		return granted
	}
	return h.of("queued", tenure)
}

func (h *secondHistory) namesUnknown() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.ofClient() && e.tenure != "" && h.known(e.tenure) == nil })
}

// queued says whether a client stood in the queue for that tenure.
func (h *secondHistory) queued(client, tenure string) bool {
	return h.any(func(e *secondEvent) bool { return e.kind == "queued" && e.client == client && e.tenure == tenure })
}

func (h *secondHistory) namesAnothers() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.ofClient() && h.known(e.tenure) != nil && !h.queued(e.lane, e.tenure) && !h.told(e.lane, e.tenure)
	})
}

func (h *secondHistory) toldUngranted() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.toldOfLock() && e.tenure != "" && h.granted(e.tenure) == nil })
}

func (h *secondHistory) toldNoTenure() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.toldOfLock() && e.tenure == "" })
}

func (h *secondHistory) toldAnotherLock() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		known := h.known(e.tenure)
		return e.toldOfLock() && e.tenure != "" && known != nil && known.scope != e.scope
	})
}

func (h *secondHistory) withoutRequest() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.request == "" && (e.did() || e.ofStorageOp() && (e.kind == "ok" || e.kind == "unknown"))
	})
}

func (h *secondHistory) notAsked() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return (e.did() || e.answers()) && e.request != "" && h.ask(e) == nil
	})
}

func (h *secondHistory) askedTwice() []*secondEvent {
	return h.again(func(e *secondEvent) bool { return e.kind == "invoke" }, sameRequest)
}

func (h *secondHistory) answeredTwice() []*secondEvent {
	return h.again((*secondEvent).answers, sameRequest)
}

func (h *secondHistory) answeredElsewhere() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.answers() && h.ask(e) != nil && h.ask(e).lane != e.lane })
}

func (h *secondHistory) answeredAsAnother() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.answers() && h.ask(e) != nil && h.ask(e).op != e.op })
}

func (h *secondHistory) didAnother() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		ask := h.ask(e)
		switch {
		case !e.did() || ask == nil:
			return false
		case ask.op == "change":
			return e.op != "write" || !slices.Contains(ask.changes, secondChange{e.key, e.value})
		case ask.op == "write":
			return e.op != "write" || e.key != ask.key || e.value != ask.value
		default:
			return e.op != ask.op || e.key != ask.key
		}
	})
}

func (h *secondHistory) didByAnother() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		ask := h.ask(e)
		return h.version2() && e.did() && ask != nil &&
			(e.scope != ask.scope || e.token != ask.token || e.sequence != ask.sequence || e.shares() != ask.shares())
	})
}

func (h *secondHistory) didTwice() []*secondEvent {
	return h.again((*secondEvent).did, func(a, b *secondEvent) bool {
		return sameRequest(a, b) && a.key == b.key
	})
}

func (h *secondHistory) didAndRefused() []*secondEvent {
	return h.again((*secondEvent).did, func(a, b *secondEvent) bool {
		return sameRequest(a, b) && a.kind != b.kind
	})
}

// tells says whether the storage's account has e's request as of that kind.
func (h *secondHistory) tells(kind string, e *secondEvent) bool {
	return h.any(func(o *secondEvent) bool { return o.kind == kind && sameRequest(o, e) })
}

func (h *secondHistory) toldUnanswered() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return (e.kind == "ok" || e.kind == "fail") && h.tells("unanswered", e) })
}

func (h *secondHistory) readUnseen() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.kind == "ok" && e.op == "read" && !h.tells("applied", e) })
}

func (h *secondHistory) refusalUnseen() []*secondEvent {
	reasons := []string{"stale", "missing", "ahead"}
	return h.all(func(e *secondEvent) bool {
		return e.kind == "fail" && e.ofStorageOp() && e.request != "" && slices.Contains(reasons, e.reason) &&
			!h.any(func(o *secondEvent) bool { return o.did() && sameRequest(o, e) })
	})
}

func (h *secondHistory) retryOfNothing() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		first := h.asked[e.retryOf]
		return e.kind == "invoke" && e.retryOf != "" && (first == nil || first.line >= e.line || first.retryOf != "" ||
			first.lane != e.lane || !first.asksTheSame(e))
	})
}

func (h *secondHistory) partOfNothing() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		first := h.asked[e.partOf]
		return e.kind == "invoke" && e.partOf != "" && (first == nil || first.line > e.line || first.lane != e.lane ||
			first.op != "write" || e.op != "write" || first.partOf != e.partOf || !slices.Equal(first.changes, e.changes))
	})
}

func (h *secondHistory) partLacks() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.kind == "invoke" && e.partOf != "" && !slices.Contains(e.changes, secondChange{e.key, e.value})
	})
}

// sinceStart is what the storage did since it was started last before e.
func (h *secondHistory) sinceStart(e *secondEvent) (did []*secondEvent) {
	for _, o := range h.events {
		switch {
		case o.startsStorage() && o.line > e.line:
			return did
		case o.startsStorage():
			did = nil
		case o.did():
			did = append(did, o)
		}
	}
	return did
}

func (h *secondHistory) indexTwice() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.did() && e.index != 0 && slices.ContainsFunc(h.sinceStart(e), func(o *secondEvent) bool {
			return o.line < e.line && o.index == e.index
		})
	})
}

// indexEmpty is the events that have a place while the one before it is empty.
func (h *secondHistory) indexEmpty() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.did() && e.index > 1 && !slices.ContainsFunc(h.sinceStart(e), func(o *secondEvent) bool {
			return o.index == e.index-1
		})
	})
}

// indexOfSome is what has a place while the first thing that the storage did has
// none, or the other way round.
func (h *secondHistory) indexOfSome() []*secondEvent {
	did := slices.IndexFunc(h.events, (*secondEvent).did)
	return h.all(func(e *secondEvent) bool {
		return e.did() && (e.index == 0) != (h.events[did].index == 0)
	})
}

// entry is which number a client shows as its token.
func (h *secondHistory) entry(e *secondEvent) string { return h.events[0].tokens[e.lane] }

// sends says whether e sends a request to the storage.
func (e *secondEvent) sends() bool { return e.kind == "invoke" && e.ofStorageOp() && e.request != "" }

// showsNone says whether e sends a request that shows no token, as it may.
func (e *secondEvent) showsNone() bool {
	return e.sends() && e.token == 0 && (e.tenure == "" || e.op == "read")
}

// tokenMatters says whether e tells of a token that can be judged: of no tenure, or
// of one that the lock service knows.
func (h *secondHistory) tokenMatters(e *secondEvent) bool {
	switch {
	case !h.version2() || e.tenure != "" && h.known(e.tenure) == nil:
		return false
	case e.toldOfLock():
		return e.tenure != ""
	}
	return e.sends() && !e.showsNone()
}

func (h *secondHistory) noEntry() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return h.tokenMatters(e) && h.entry(e) == "" })
}

// names says whether e's entry in tokens names the token of e.
func (h *secondHistory) names(e *secondEvent) bool {
	known := h.known(e.tenure)
	switch h.entry(e) {
	case "revision":
		return known != nil && e.token == known.token
	case "header":
		return known != nil && e.token >= known.token
	case "max":
		return e.token == math.MaxInt64
	case "lease":
		return known != nil && e.token != 0
	case "none":
		return e.token == 0
	}
	return false
}

// toldToken is what told of the lock with a token that may not be.
func (h *secondHistory) toldToken() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.toldOfLock() && h.tokenMatters(e) && h.entry(e) != "" && !h.names(e)
	})
}

// shownToken is the requests that show a token that may not be.
func (h *secondHistory) shownToken() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		if e.toldOfLock() || !h.tokenMatters(e) || h.entry(e) == "" {
			return false
		}
		queued := h.known(e.tenure) != nil && e.token == h.known(e.tenure).token && h.entry(e) != "max" && h.entry(e) != "none"
		free := h.entry(e) != "header" && h.names(e)
		return !queued && !free && (e.tenure == "" || !h.toldOf(e.lane, e.tenure, e.token))
	})
}

// toldOf says whether a client was told that it has the lock in that tenure, with that token.
func (h *secondHistory) toldOf(client, tenure string, token int64) bool {
	return h.any(func(e *secondEvent) bool {
		return e.toldOfLock() && e.lane == client && e.tenure == tenure && e.token == token
	})
}

func (e *secondEvent) ends() bool { return e.kind == "end" || e.kind == "error" }

func (h *secondHistory) noEnd() []*secondEvent {
	last := h.events[len(h.events)-1]
	if !h.version2() || last.ends() {
		return nil
	}
	return []*secondEvent{last}
}

// afterEnd is each end after which something comes.
func (h *secondHistory) afterEnd() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return h.version2() && e.ends() && e.line < len(h.events) })
}
