package judge_test

import "slices"

// secondCorruptions are what makes a history corrupted.
var secondCorruptions = []secondRule{
	{"stale", "stale", (*secondHistory).stale},
	{"unheld", "unheld", (*secondHistory).unheld},
	{"unguarded", "unguarded", (*secondHistory).unguarded},
	{"shared", "shared", (*secondHistory).shared},
	{"late", "late", (*secondHistory).late},
	{"lost", "lost: found", (*secondHistory).lostFound},
	{"lost", "lost: acknowledged", (*secondHistory).lostAcknowledged},
	{"denied", "denied", (*secondHistory).denied},
	{"torn", "torn: at the end", (*secondHistory).tornAtEnd},
	{"torn", "torn: read", (*secondHistory).tornRead},
}

// secondBlockages are what makes it blocked.
var secondBlockages = []secondRule{
	{"refused", "refused", (*secondHistory).refusedHolder},
	{"not-granted", "not-granted: lock", (*secondHistory).notGranted},
	{"not-granted", "not-granted: trylock", (*secondHistory).notGrantedTry},
	{"not-granted", "not-granted: in vain", (*secondHistory).waitedInVain},
	{"orphaned", "orphaned", (*secondHistory).orphaned},
	{"deadlocked", "deadlocked", (*secondHistory).deadlocked},
}

// secondDoubts are what leaves it undecided.
var secondDoubts = []secondRule{
	{"unanswered", "undecided: unanswered", (*secondHistory).unanswered},
	{"starved", "undecided: starved", (*secondHistory).excused},
	{"unmeasured", "undecided: a free lock", (*secondHistory).waitedPerhaps},
	{"unmeasured", "undecided: a dead holder", (*secondHistory).orphanedPerhaps},
	{"unmeasured", "undecided: a cycle", (*secondHistory).deadlockedPerhaps},
}

// secondExceptions are the rules within rules that can be switched off, too.
var secondExceptions = []string{
	"line: UTF-8", "line: an object", "line: no field twice", "line: one run",
	"order: by index", "attempts: retry_of", "attempts: of version 1", "tenures: not before the grant",
	"lost: with a restart", "lost: not what a read found", "lost: not what was acknowledged",
	"lost: a duplicate", "lost: a duplicate of version 1", "tenures: those that share", "stale: once", "stale: reads", "stale: reads of those that share", "stale: after changes alone", "stale: of those that share", "unheld: once", "unheld: by scope",
	"unguarded: after its end", "unguarded: own", "shared: once", "late: acknowledged before",
	"torn: complete", "torn: parts", "torn: one client without tenure", "torn: once", "torn: earlier tenures only",
	"refused: once", "refused: no token", "refused: sequence", "refused: sequence that had no answer", "refused: ahead", "undecided: the time that ran",
	"starved: expired", "starved: not awaited", "starved: no fault of its client", "starved: no fault of the lock service",
	"starved: its client", "starved: the lock service", "starved: since the grant", "starved: stale", "starved: torn", "starved: not-granted", "starved: without its time",
	"open keys",
	"not-granted: without reason", "not-granted: nobody came", "not-granted: given up", "not-granted: handed over", "not-granted: just freed", "not-granted: not told", "orphaned: once", "orphaned: somebody waits",
	"deadlocked: the shortest bound", "cycle: a holder", "cycle: by way of others", "cycle: two clients or more",
	"hindered: pause", "hindered: kill", "hindered: partition", "hindered: deafen", "hindered: delay",
	"hindered: until pause is over", "hindered: until kill is over", "hindered: until partition is over", "hindered: until deafen is over", "hindered: until delay is over",
	"waiting: until it is killed", "waiting: not while it is hindered",
	"dead: since it came", "dead: killed after it came", "dead: killed", "dead: paused", "dead: cut off",
	"dead: killed after its question", "dead: given up", "given up: not where it is held", "given up: until it is told",
	"question: trylock", "question: not one that was answered by a grant",
	"times: not while the machine stands still", "times: not while the lock service is hindered", "times: each fault ends them", "times: the end ends them",
	"facts: once for each attempt", "facts: ordered", "facts: exclusive", "facts: final",
	"facts: fair", "facts: fair, where somebody queues", "facts: fair, but not to those that share",
}

// later says whether a is a later tenure than b of the same lock.
func (h *secondHistory) later(a, b *secondEvent) bool {
	return a != nil && b != nil && a.scope == b.scope && a.place > b.place
}

// shares says whether a tenure, or what a request shows, is shared.
func (e *secondEvent) shares() bool { return e.mode == "shared" }

// overtakes says whether a is a later tenure than b, with which it cannot go on.
func (h *secondHistory) overtakes(a, b *secondEvent) bool {
	return h.later(a, b) && !(a.shares() && b.shares() && !h.off["tenures: those that share"])
}

// ofChanges are the changes of which yes is true.
func (h *secondHistory) ofChanges(yes func(e, tenure *secondEvent) bool) []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.changesKey() && yes(e, h.tenureOf(e)) })
}

// uses are those before that place of which yes is true.
func (h *secondHistory) uses(place int, yes func(e, tenure *secondEvent) bool) (found []*secondEvent) {
	for _, e := range h.order[:place] {
		if e.kind == "applied" && yes(e, h.tenureOf(e)) {
			found = append(found, e)
		}
	}
	return found
}

// once is the first of what was found for each name.
func (h *secondHistory) once(rule string, found []*secondEvent, name func(*secondEvent) string) (first []*secondEvent) {
	seen := make(map[string]bool)
	for _, e := range found {
		if !seen[name(e)] || h.off[rule] {
			first = append(first, e)
		}
		seen[name(e)] = true
	}
	return first
}

func attempt(e *secondEvent) string { return e.request }

func (h *secondHistory) stale() []*secondEvent {
	return h.once("stale: once", h.all(func(e *secondEvent) bool {
		tenure := h.tenureOfApplied(e)
		read := e.op == "read"
		if tenure == nil || read && (h.off["stale: reads"] || !tenure.shares() && !h.off["stale: reads of those that share"]) {
			return false
		}
		if !read && h.outrun(e, tenure) {
			return true
		}
		if !h.off["starved: stale"] && h.starvedOut(tenure, e.place) {
			return false
		}
		return len(h.uses(e.place, func(use, of *secondEvent) bool {
			return h.overtakes(of, tenure) && (!read || use.changesKey() || h.off["stale: after changes alone"])
		})) > 0
	}), attempt)
}

// outrun says whether, between the first use under a shared tenure and this change under
// it, another shared tenure changed something.
func (h *secondHistory) outrun(change, tenure *secondEvent) bool {
	own := h.uses(change.place, func(_, of *secondEvent) bool { return of == tenure })
	if !tenure.shares() || len(own) == 0 || h.off["stale: of those that share"] {
		return false
	}
	return len(h.uses(change.place, func(use, of *secondEvent) bool {
		return of != nil && of != tenure && of.shares() && of.scope == tenure.scope && use.changesKey() && use.place > own[0].place
	})) > 0
}

func (h *secondHistory) unheld() []*secondEvent {
	return h.once("unheld: once", h.ofChanges(func(e, tenure *secondEvent) bool {
		if tenure != nil {
			return false
		}
		lock := h.ask(e).scope
		if h.off["unheld: by scope"] {
			lock = ""
		}
		for _, use := range h.uses(e.place, func(use, of *secondEvent) bool { return of != nil && use.key == e.key }) {
			lock = h.tenureOf(use).scope
		}
		return len(h.uses(e.place, func(_, of *secondEvent) bool { return of != nil && of.scope == lock })) > 0
	}), attempt)
}

func (h *secondHistory) unguarded() []*secondEvent {
	return h.ofChanges(func(e, tenure *secondEvent) bool {
		last := h.lastChange(e.key, e.place)
		if tenure == nil || last == nil || h.tenureOf(last) == nil || h.open(e.key, e.place) {
			return false
		}
		other := h.tenureOf(last)
		return other.scope != tenure.scope && (h.ask(last).lane != h.ask(e).lane || h.off["unguarded: own"]) &&
			(!h.overBefore(other.tenure, tenure.place) || h.off["unguarded: after its end"])
	})
}

// told says whether a client was told that it has the lock in that tenure.
func (h *secondHistory) told(client, tenure string) bool {
	return h.any(func(e *secondEvent) bool {
		return e.toldOfLock() && e.lane == client && e.tenure == tenure
	})
}

func (h *secondHistory) shared() []*secondEvent {
	found := h.all(func(e *secondEvent) bool {
		tenure := h.tenureOfApplied(e)
		if tenure == nil || !h.told(h.ask(e).lane, tenure.tenure) {
			return false
		}
		return len(h.uses(e.place, func(use, of *secondEvent) bool {
			return of == tenure && h.ask(use).lane != h.ask(e).lane && h.told(h.ask(use).lane, tenure.tenure)
		})) > 0
	})
	return h.once("shared: once", found, func(e *secondEvent) string { return h.tenureOf(e).tenure })
}

// tenureOfApplied is the tenure of what was applied; nil for everything else.
func (h *secondHistory) tenureOfApplied(e *secondEvent) *secondEvent {
	if e.kind != "applied" {
		return nil
	}
	return h.tenureOf(e)
}

// askedAt is the place at which e's request was asked for: when its first attempt was.
func (h *secondHistory) askedAt(e *secondEvent) int { return h.asked[h.first[e.request]].place }

func (h *secondHistory) late() []*secondEvent {
	return h.ofChanges(func(e, _ *secondEvent) bool {
		return h.ask(e).tenure != "" && len(h.uses(e.place, func(other, _ *secondEvent) bool {
			return other.changesKey() && other.key == e.key && !h.oneRequest(other, e) &&
				h.ask(other).tenure == h.ask(e).tenure && h.ask(other).lane == h.ask(e).lane && h.askedAt(other) > h.askedAt(e) &&
				(h.acknowledged(other, e.place) || h.off["late: acknowledged before"])
		})) > 0
	})
}

func (h *secondHistory) lostFound() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.finds() && !leaves(h.lastChange(e.key, e.place), e) && !h.open(e.key, e.place)
	})
}

func (h *secondHistory) lostAcknowledged() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return e.kind == "ok" && e.asksForChange() && slices.ContainsFunc(h.ask(e).keys(), func(key string) bool {
			return !h.wasApplied(e, key)
		})
	})
}

// wasApplied says whether the attempt that got this ok was applied to the key.
func (h *secondHistory) wasApplied(ok *secondEvent, key string) bool {
	return h.any(func(e *secondEvent) bool {
		return e.changesKey() && e.key == key &&
			(e.request == ok.request || h.oneRequest(e, ok) && h.wasDuplicate(ok))
	})
}

// wasDuplicate says whether the attempt that got this ok was answered as a duplicate.
func (h *secondHistory) wasDuplicate(ok *secondEvent) bool {
	if h.version2() {
		return h.tells("duplicate", ok) && !h.off["lost: a duplicate"]
	}
	return h.ask(ok).sequence > 0 && !h.tells("applied", ok) && !h.off["lost: a duplicate of version 1"]
}

func (h *secondHistory) denied() (found []*secondEvent) {
	for _, fail := range h.order {
		if fail.kind != "fail" || !fail.asksForChange() {
			continue
		}
		if did := h.all(func(e *secondEvent) bool { return e.changesKey() && sameRequest(e, fail) }); len(did) > 0 {
			found = append(found, h.order[max(fail.place, did[0].place)])
		}
	}
	return found
}

// refusedHolder is the refusals of requests of a lock's holder.
func (h *secondHistory) refusedHolder() []*secondEvent {
	return h.once("refused: once", h.all(func(e *secondEvent) bool {
		if e.kind != "refused" || h.tenureOf(e) == nil {
			return false
		}
		tenure := h.tenureOf(e)
		if !h.holds(tenure, e.place) {
			return false
		}
		behind := e.token == e.mark && e.sequence > 0 && slices.ContainsFunc(h.order[:e.place], func(o *secondEvent) bool {
			done := o.kind == "applied" || o.kind == "unanswered" && !h.off["refused: sequence that had no answer"]
			return done && h.tenureOf(o) == tenure && o.sequence > e.sequence
		})
		switch {
		case e.token == 0:
			return h.off["refused: no token"]
		case behind:
			return h.off["refused: sequence"]
		case e.reason == "ahead" && e.token != tenure.token:
			return h.off["refused: ahead"]
		}
		return true
	}), attempt)
}

// notGot says whether a client did not get the lock by that op.
func (h *secondHistory) notGot(e *secondEvent, op string) bool {
	return e.op == op && (e.kind == "fail" || e.kind == "unknown") && (e.reason == "" || h.off["not-granted: without reason"])
}

// free says whether every tenure of the lock that had begun had ended.
func (h *secondHistory) free(lock string, place int) bool {
	return !slices.ContainsFunc(h.order[:place], func(e *secondEvent) bool {
		return e.kind == "granted" && e.scope == lock && !h.overBefore(e.tenure, place)
	})
}

func (h *secondHistory) notGranted() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		return h.notGot(e, "lock") && (h.free(e.scope, e.place) || h.gaveBack(e)) && !h.handedOver(e) && !h.justFreed(e) && !h.gaveUp(e)
	})
}

// handedOver says whether another client, which waits for the lock when this one is told, hindered or not, is
// granted it soon after.
func (h *secondHistory) handedOver(answer *secondEvent) bool {
	handover := h.events[0].handover
	if handover == 0 || h.off["not-granted: handed over"] {
		return false
	}
	return slices.ContainsFunc(h.order[answer.place:], func(e *secondEvent) bool {
		return e.kind == "granted" && e.scope == answer.scope && e.client != answer.lane && e.at-answer.at <= handover &&
			h.stands(e.client, e.scope, answer.place)
	})
}

// gaveBack says whether the lock is not free only because of tenures of the client, which are
// given up by what it is told.
func (h *secondHistory) gaveBack(answer *secondEvent) bool {
	if answer.kind != "fail" || h.off["not-granted: given up"] {
		return false
	}
	return !slices.ContainsFunc(h.order[:answer.place], func(e *secondEvent) bool {
		return e.kind == "granted" && e.scope == answer.scope && !h.overBefore(e.tenure, answer.place) &&
			(e.client != answer.lane || !h.givenUp(e, answer.place))
	})
}

func (h *secondHistory) notGrantedTry() []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		asked := h.tried(e)
		if !h.notGot(e, "trylock") || asked == nil || !h.free(e.scope, asked.place) {
			return false
		}
		came := slices.ContainsFunc(h.order[min(asked.place, e.place):e.place], func(o *secondEvent) bool {
			return (o.kind == "granted" || o.kind == "queued") && o.scope == e.scope
		})
		return (!came || h.off["not-granted: nobody came"]) && !h.gaveUp(e)
	})
}

// tried is the invoke that a trylock's answer is about: by its request, or the
// client's last one for that lock.
func (h *secondHistory) tried(answer *secondEvent) (asked *secondEvent) {
	if answer.request != "" {
		return h.ask(answer)
	}
	for _, e := range h.order[:answer.place] {
		if e.kind == "invoke" && e.op == "trylock" && e.lane == answer.lane && e.scope == answer.scope {
			asked = e
		}
	}
	return asked
}

// refusedAttempts counts the attempts that were refused, for that reason or for any.
func (h *secondHistory) refusedAttempts(reason string) int {
	found := h.all(func(e *secondEvent) bool { return e.kind == "refused" && (reason == "" || e.reason == reason) })
	return len(h.once("facts: once for each attempt", found, attempt))
}

// ordered is whether the tokens of which clients were told grew in the order of grants.
func (h *secondHistory) ordered() bool {
	token := func(e *secondEvent) bool { return e.toldOfLock() && e.token != 0 && h.granted(e.tenure) != nil }
	for _, a := range h.all(token) {
		for _, b := range h.all(token) {
			if h.later(h.granted(b.tenure), h.granted(a.tenure)) && b.token <= a.token {
				return h.off["facts: ordered"]
			}
		}
	}
	return true
}

// exclusive is whether no tenure was granted while an earlier one had not ended.
func (h *secondHistory) exclusive() bool {
	granted := h.all(func(e *secondEvent) bool { return e.kind == "granted" })
	for _, a := range granted {
		for _, b := range granted {
			if h.overtakes(b, a) && !h.overBefore(a.tenure, b.place) {
				return h.off["facts: exclusive"]
			}
		}
	}
	return true
}

// final is what keys hold at the end.
func (h *secondHistory) final() map[string]string {
	final := make(map[string]string)
	for _, e := range h.events {
		if e.kind == "final" && !e.missing && !h.off["facts: final"] {
			final[e.key] = e.value
		}
	}
	return final
}
