package judge_test

import "slices"

// What docs/histories.md says of waiting, and of the two rules that go by the clock.

// secondTime is one for which something is so. ends is nil where it goes on.
type secondTime struct{ begins, ends *secondEvent }

// secondHindrances are the faults of the table, each with what undoes it.
var secondHindrances = []struct {
	name         string
	fault, until []string // kinds, or causes
}{
	{"pause", []string{"pause"}, []string{"resume", "restart"}},
	{"kill", []string{"kill"}, []string{"restart"}},
	{"partition", []string{"partition"}, []string{"heal"}},
	{"deafen", []string{"deafen"}, []string{"heal"}},
	{"delay", []string{"delay"}, []string{"deliver"}},
}

// fault is the kind of a line about a fault or its end, or its cause where it is about
// the network; "" of every other line.
func (e *secondEvent) fault() string {
	switch {
	case e.kind == "network":
		return e.cause
	case slices.Contains([]string{"pause", "resume", "kill", "restart"}, e.kind):
		return e.kind
	}
	return ""
}

// lasts says whether a fault of a lane goes on after that place.
func (h *secondHistory) lasts(name, lane string, place int) (lasts bool) {
	for _, hindrance := range secondHindrances {
		for _, e := range h.order[:place+1] {
			switch {
			case hindrance.name != name || e.lane != lane || h.off["hindered: "+name]:
			case slices.Contains(hindrance.fault, e.fault()):
				lasts = true
			case slices.Contains(hindrance.until, e.fault()) && !h.off["hindered: until "+name+" is over"]:
				lasts = false
			}
		}
	}
	return lasts
}

func (h *secondHistory) hindered(lane string, place int) bool {
	for _, hindrance := range secondHindrances {
		if h.lasts(hindrance.name, lane, place) {
			return true
		}
	}
	return false
}

// toldOf says whether a client is told what became of its lock.
func (e *secondEvent) toldOf(client, lock string) bool {
	return e.answers() && e.op == "lock" && e.lane == client && e.scope == lock
}

// waits says whether a client waits for a lock after that place.
func (h *secondHistory) waits(client, lock string, place int) bool {
	return h.stands(client, lock, place) && (!h.hindered(client, place) || h.off["waiting: not while it is hindered"])
}

// stands says whether a client has asked to wait for a lock, and was told nothing by that place.
func (h *secondHistory) stands(client, lock string, place int) (stands bool) {
	for _, e := range h.order[:place+1] {
		switch {
		case e.lane != client:
		case e.kind == "invoke" && e.op == "lock" && e.scope == lock:
			stands = true
		case e.toldOf(client, lock), e.kind == "kill" && !h.off["waiting: until it is killed"]:
			stands = false
		}
	}
	return stands
}

func (h *secondHistory) somebodyWaits(lock string, place int) bool {
	return slices.ContainsFunc(h.order[:place+1], func(e *secondEvent) bool {
		return e.kind == "invoke" && e.op == "lock" && h.waits(e.lane, lock, place)
	})
}

// ofLock says whether a client asks for a lock, or is told of that.
func (e *secondEvent) ofLock(client, lock string) bool {
	return (e.op == "lock" || e.op == "trylock") && e.lane == client && e.scope == lock
}

// question is the line by which the client of a tenure asked for the lock; nil: there is none.
func (h *secondHistory) question(tenure *secondEvent) (question *secondEvent) {
	came := h.came(tenure)
	for _, e := range h.order[:came.place] {
		switch {
		case !e.ofLock(came.client, came.scope):
		case e.kind == "invoke" && (e.op == "lock" || !h.off["question: trylock"]):
			question = e
		case e.kind == "ok" && !h.off["question: not one that was answered by a grant"]:
			question = nil
		}
	}
	return question
}

// givenUp says whether a tenure is given up after that place.
func (h *secondHistory) givenUp(tenure *secondEvent, place int) bool {
	question := h.question(tenure)
	if question == nil || place < question.place || h.off["dead: given up"] {
		return false
	}
	lines := h.order[question.place : place+1]
	answer := slices.IndexFunc(lines, func(e *secondEvent) bool {
		return e.ofLock(question.lane, question.scope) && e.answers() && (e.reason != "held" || h.off["given up: not where it is held"])
	})
	told := slices.ContainsFunc(h.order[:place+1], func(e *secondEvent) bool {
		return e.kind == "ok" && e.ofLock(tenure.client, tenure.scope) && e.tenure == tenure.tenure && !h.off["given up: until it is told"]
	})
	return answer >= 0 && lines[answer].kind != "ok" && !told
}

// dead says whether nobody can renew a tenure, or will release it, after that place.
func (h *secondHistory) dead(tenure *secondEvent, place int) bool {
	came := h.came(tenure)
	if h.off["dead: since it came"] {
		came = tenure
	}
	question := h.question(tenure)
	killed := slices.ContainsFunc(h.order[:place+1], func(e *secondEvent) bool {
		asked := question != nil && e.place > question.place && !h.off["dead: killed after its question"]
		return e.kind == "kill" && e.lane == tenure.client && (e.place > came.place || asked || h.off["dead: killed after it came"])
	})
	return h.givenUp(tenure, place) || killed && !h.off["dead: killed"] ||
		h.lasts("pause", tenure.client, place) && !h.off["dead: paused"] ||
		h.lasts("partition", tenure.client, place) && !h.off["dead: cut off"]
}

// came is the line with which a tenure came.
func (h *secondHistory) came(tenure *secondEvent) *secondEvent {
	for _, e := range h.order {
		if (e.kind == "queued" || e.kind == "granted") && e.tenure == tenure.tenure {
			return e
		}
	}
	return nil
}

// ofAll says whether a lane is one of the two whose faults concern everybody.
func (h *secondHistory) ofAll(lane string) bool {
	return lane == "gcsim" && !h.off["times: not while the machine stands still"] ||
		lane == h.events[0].service && !h.off["times: not while the lock service is hindered"]
}

// times are those for which something is so after each place.
func (h *secondHistory) times(so func(place int) bool) (times []secondTime) {
	var begins *secondEvent
	for _, e := range h.order {
		runs := so(e.place)
		for _, lane := range []string{"gcsim", h.events[0].service} {
			runs = runs && !(h.ofAll(lane) && h.hindered(lane, e.place))
		}
		anew := e.fault() != "" && h.ofAll(e.lane) && !h.off["times: each fault ends them"]
		if begins != nil && (!runs || anew || e.kind == "end" && !h.off["times: the end ends them"]) {
			times, begins = append(times, secondTime{begins, e}), nil
		}
		if runs && begins == nil {
			begins = e
		}
	}
	if begins != nil {
		times = append(times, secondTime{begins, nil})
	}
	return times
}

// spans are those for which something is so after each place, whoever stands still meanwhile.
func (h *secondHistory) spans(so func(place int) bool) (spans []secondTime) {
	for place, e := range h.order {
		is, was := so(place) && e.kind != "end", place > 0 && so(place-1)
		if is && !was {
			spans = append(spans, secondTime{begins: e})
		}
		if !is && was {
			spans[len(spans)-1].ends = e
		}
	}
	return spans
}

// ran is for how long the time of a span ran, in all, up to that line.
func (h *secondHistory) ran(span secondTime, to *secondEvent) (ran int64) {
	for place := span.begins.place; place < to.place; place++ {
		still := h.hindered("gcsim", place) || h.hindered(h.events[0].service, place)
		if !still || h.off["undecided: the time that ran"] {
			ran += h.order[place+1].at - h.order[place].at
		}
	}
	return ran
}

// vain says whether a client waits for a free lock after each place.
func (h *secondHistory) vain(ask *secondEvent) func(place int) bool {
	return func(place int) bool { return h.free(ask.scope, place+1) && h.waits(ask.lane, ask.scope, place) }
}

// justFreed says whether another client's tenure of the lock ended after the client had asked, last, and soon before
// it is told.
func (h *secondHistory) justFreed(answer *secondEvent) bool {
	handover, asked := h.events[0].handover, -1
	if handover == 0 || h.off["not-granted: just freed"] {
		return false
	}
	for _, e := range h.order[:answer.place] {
		if e.kind == "invoke" && e.op == "lock" && e.lane == answer.lane && e.scope == answer.scope {
			asked = e.place
		}
	}
	return slices.ContainsFunc(h.order[:answer.place], func(e *secondEvent) bool {
		if e.kind != "ended" || e.place < asked || answer.at-e.at > handover {
			return false
		}
		tenure := h.granted(e.tenure)
		return tenure != nil && tenure.place < e.place && tenure.scope == answer.scope && tenure.client != answer.lane
	})
}

// waiters are the first lines in which a client asks to wait for a lock.
func (h *secondHistory) waiters() (asks []*secondEvent) {
	asked := make(map[[2]string]bool)
	for _, e := range h.order {
		who := [2]string{e.lane, e.scope}
		if e.kind == "invoke" && e.op == "lock" && !asked[who] {
			asked[who] = true
			asks = append(asks, e)
		}
	}
	return asks
}

// waitedInVain is where a client waits too long for a free lock.
func (h *secondHistory) waitedInVain() (found []*secondEvent) {
	handover := h.events[0].handover
	for _, ask := range h.waiters() {
		for _, time := range h.times(h.vain(ask)) {
			end := time.ends
			if handover > 0 && end != nil && h.without(time, end, ask.lane) > handover && (!end.toldOf(ask.lane, ask.scope) || h.off["not-granted: not told"]) {
				found = append(found, end)
			}
		}
	}
	return found
}

// waitedPerhaps is where a client may have waited too long for a free lock.
func (h *secondHistory) waitedPerhaps() (found []*secondEvent) {
	handover := h.events[0].handover
	for _, ask := range h.waiters() {
		for _, span := range h.spans(h.vain(ask)) {
			end := span.ends
			if handover > 0 && end != nil && !end.toldOf(ask.lane, ask.scope) && h.ran(span, end) > handover {
				found = append(found, end)
			}
		}
	}
	return found
}

// undead says whether a tenure holds its lock after each place, and is dead.
func (h *secondHistory) undead(tenure *secondEvent) func(place int) bool {
	return func(place int) bool {
		return place >= tenure.place && h.holds(tenure, place+1) && h.dead(tenure, place)
	}
}

// orphaned is where somebody waits for a lock that is held too long by a dead tenure.
func (h *secondHistory) orphaned() (found []*secondEvent) {
	return h.ofEachTenure(func(tenure *secondEvent, bound int64) []*secondEvent {
		return h.outlives(tenure, h.times(h.undead(tenure)), func(time secondTime, e *secondEvent) bool { return h.without(time, e) > bound })
	})
}

// orphanedPerhaps is where somebody waits for a lock that may be held too long by a dead tenure.
func (h *secondHistory) orphanedPerhaps() []*secondEvent {
	return h.ofEachTenure(func(tenure *secondEvent, bound int64) []*secondEvent {
		return h.outlives(tenure, h.spans(h.undead(tenure)), func(span secondTime, e *secondEvent) bool { return h.ran(span, e) > bound })
	})
}

// ofEachTenure is what is found of the tenures that have a bound, of each once.
func (h *secondHistory) ofEachTenure(find func(tenure *secondEvent, bound int64) []*secondEvent) (found []*secondEvent) {
	for _, tenure := range h.all(func(e *secondEvent) bool { return e.kind == "granted" }) {
		bound := h.events[0].bounds[tenure.client]
		if bound == 0 {
			continue
		}
		late := find(tenure, bound)
		if len(late) > 1 && !h.off["orphaned: once"] {
			late = late[:1]
		}
		found = append(found, late...)
	}
	return found
}

// outlives are the lines that end a stretch in which a tenure is dead, or after which nobody
// waits any more, where that was too long by then.
func (h *secondHistory) outlives(tenure *secondEvent, stretches []secondTime, tooLong func(secondTime, *secondEvent) bool) (late []*secondEvent) {
	for _, time := range stretches {
		for _, e := range h.order[time.begins.place+1:] {
			waited := h.somebodyWaits(tenure.scope, e.place-1) || h.off["orphaned: somebody waits"]
			ends := e == time.ends || !h.somebodyWaits(tenure.scope, e.place)
			if waited && ends && tooLong(time, e) {
				late = append(late, e)
			}
			if e == time.ends {
				break
			}
		}
	}
	return late
}

// fair is whether grants came in the order of requests; "" where that is not judged.
func (h *secondHistory) fair() string {
	if !h.any(func(e *secondEvent) bool { return e.kind == "queued" }) && !h.off["facts: fair, where somebody queues"] {
		return ""
	}
	granted := h.all(func(e *secondEvent) bool { return e.kind == "granted" })
	for _, a := range granted {
		for _, b := range granted {
			shared := a.shares() && b.shares() && !h.off["facts: fair, but not to those that share"]
			if h.later(a, b) && h.came(a).place < h.came(b).place && !shared && !h.off["facts: fair"] {
				return "no"
			}
		}
	}
	return "yes"
}
