package judge_test

import "slices"

// secondHistory is a history in the order in which it is judged, and what the rules
// ask of it.
type secondHistory struct {
	off    map[string]bool
	events []*secondEvent // by line
	order  []*secondEvent // by place

	asked map[string]*secondEvent       // request → its first invoke
	first map[string]string             // request of an attempt → that of the first attempt
	gone  map[*secondEvent]*secondEvent // a change that was lost with a restart → that restart
	under map[*secondEvent]*secondEvent // what the storage did → the grant of the tenure of which it is
}

func newSecondHistory(events []*secondEvent, off map[string]bool) *secondHistory {
	h := &secondHistory{off: off, events: events, order: slices.Clone(events)}
	if !h.off["order: by index"] {
		for from := 0; from < len(h.order); {
			to := from + 1
			for to < len(h.order) && !h.order[to].startsStorage() {
				to++
			}
			byIndex(h.order[from:to])
			from = to
		}
	}
	for place, e := range h.order {
		e.place = place
	}
	h.asked = make(map[string]*secondEvent)
	for _, e := range h.events {
		if e.kind == "invoke" && e.request != "" && h.asked[e.request] == nil {
			h.asked[e.request] = e
		}
	}
	h.joinAttempts()
	h.loseWithRestarts()
	h.under = make(map[*secondEvent]*secondEvent)
	for _, e := range h.order {
		if e.did() {
			h.under[e] = h.findTenure(e)
		}
	}
	return h
}

// byIndex puts what the storage did in its own order, in the places that it has.
func byIndex(events []*secondEvent) {
	var places []int
	var did []*secondEvent
	for i, e := range events {
		if e.did() {
			places = append(places, i)
			did = append(did, e)
		}
	}
	slices.SortStableFunc(did, func(a, b *secondEvent) int { return int(a.index - b.index) })
	for i, place := range places {
		events[place] = did[i]
	}
}

func (e *secondEvent) startsStorage() bool {
	return e.lane == "storage" && (e.kind == "kill" || e.kind == "restart")
}

// did says whether the storage tells what it did with a request.
func (e *secondEvent) did() bool {
	return e.kind == "applied" || e.kind == "refused" || e.kind == "duplicate" || e.kind == "unanswered"
}

func (e *secondEvent) answers() bool {
	return e.kind == "ok" || e.kind == "fail" || e.kind == "unknown"
}

func (e *secondEvent) ofClient() bool { return e.kind == "invoke" || e.answers() || e.kind == "lost" }

func (e *secondEvent) ofStorageOp() bool {
	return slices.Contains([]string{"read", "write", "delete", "change"}, e.op)
}

func (e *secondEvent) asksForChange() bool { return e.ofStorageOp() && e.op != "read" }

func (e *secondEvent) toldOfLock() bool {
	return e.kind == "ok" && (e.op == "lock" || e.op == "trylock")
}

// unanswered is the requests of which nobody knows what became of them.
func (h *secondHistory) unanswered() []*secondEvent {
	return h.all(func(e *secondEvent) bool { return e.kind == "unanswered" })
}

// open says whether a change of the key had no answer before that place.
func (h *secondHistory) open(key string, place int) bool {
	return !h.off["open keys"] && slices.ContainsFunc(h.order[:place], func(e *secondEvent) bool {
		return e.kind == "unanswered" && e.op != "read" && e.key == key
	})
}

// changesKey says whether e is a change: an applied write or delete.
func (e *secondEvent) changesKey() bool { return e.kind == "applied" && e.op != "read" }

// finds says whether e tells what a key holds.
func (e *secondEvent) finds() bool {
	return e.kind == "final" || e.kind == "applied" && e.op == "read"
}

// asksTheSame says whether two invokes ask for the same, under the same tenure.
func (e *secondEvent) asksTheSame(other *secondEvent) bool {
	return e.op == other.op && e.tenure == other.tenure && e.scope == other.scope && e.key == other.key && e.value == other.value &&
		e.sequence == other.sequence && slices.Equal(e.changes, other.changes)
}

// keys are those that an invoke asks to change; none without an invoke.
func (e *secondEvent) keys() []string {
	if e == nil {
		return nil
	}
	if e.op != "change" {
		return []string{e.key}
	}
	var keys []string
	for _, c := range e.changes {
		keys = append(keys, c.key)
	}
	return keys
}

func (h *secondHistory) version2() bool { return h.events[0].version >= 2 }

// all are the events of which yes is true, in their order.
func (h *secondHistory) all(yes func(*secondEvent) bool) (found []*secondEvent) {
	for _, e := range h.order {
		if yes(e) {
			found = append(found, e)
		}
	}
	return found
}

func (h *secondHistory) any(yes func(*secondEvent) bool) bool {
	return slices.ContainsFunc(h.order, yes)
}

// ask is the invoke of what e is about.
func (h *secondHistory) ask(e *secondEvent) *secondEvent { return h.asked[e.request] }

// joinAttempts finds the attempts at one request.
func (h *secondHistory) joinAttempts() {
	h.first = make(map[string]string)
	for _, e := range h.events {
		if e.kind != "invoke" || e.request == "" {
			continue
		}
		h.first[e.request] = e.request
		switch {
		case h.version2() && e.retryOf != "" && !h.off["attempts: retry_of"]:
			h.first[e.request] = e.retryOf
		case !h.version2() && !h.off["attempts: of version 1"]:
			if earlier := h.unknownBefore(e); earlier != nil {
				h.first[e.request] = h.first[earlier.request]
			}
		}
	}
}

// unknownBefore is the last earlier invoke of the same client that asks for the
// same, if the last outcome of its request is unknown.
func (h *secondHistory) unknownBefore(e *secondEvent) *secondEvent {
	var last *secondEvent
	for _, earlier := range h.events[:e.line-1] {
		if earlier.sends() && earlier.lane == e.lane && earlier.asksTheSame(e) {
			last = earlier
		}
	}
	outcome := ""
	for _, answer := range h.events[:e.line-1] {
		if last != nil && answer.answers() && h.oneRequest(answer, last) {
			outcome = answer.kind
		}
	}
	if outcome != "unknown" {
		return nil
	}
	return last
}

// oneRequest says whether two events are of attempts at one request.
func (h *secondHistory) oneRequest(a, b *secondEvent) bool {
	return a.request != "" && h.first[a.request] == h.first[b.request]
}

// acknowledged says whether e's request got an ok before that place.
func (h *secondHistory) acknowledged(e *secondEvent, place int) bool {
	return h.any(func(told *secondEvent) bool {
		return told.kind == "ok" && told.place < place && h.oneRequest(told, e)
	})
}

// granted is the event with which a tenure began; nil where it never did.
func (h *secondHistory) granted(tenure string) *secondEvent { return h.of("granted", tenure) }

func (h *secondHistory) of(kind, tenure string) *secondEvent {
	for _, e := range h.events {
		if e.kind == kind && e.tenure == tenure {
			return e
		}
	}
	return nil
}

// overBefore says whether a tenure had ended before that place.
func (h *secondHistory) overBefore(tenure string, place int) bool {
	ended := h.of("ended", tenure)
	return ended != nil && ended.place < place
}

// tenureOf is the grant of the tenure of which the storage's event is; nil if of none.
func (h *secondHistory) tenureOf(e *secondEvent) *secondEvent { return h.under[e] }

func (h *secondHistory) findTenure(e *secondEvent) *secondEvent {
	ask := h.ask(e)
	if ask == nil || ask.tenure == "" {
		return nil
	}
	granted := h.granted(ask.tenure)
	told := h.all(func(o *secondEvent) bool { return o.did() && o.request == e.request })
	if granted == nil || granted.place > told[0].place && !h.off["tenures: not before the grant"] {
		return nil
	}
	return granted
}

// holds says whether a tenure holds its lock at that place.
func (h *secondHistory) holds(tenure *secondEvent, place int) bool {
	return !h.overBefore(tenure.tenure, place) && !slices.ContainsFunc(h.order[:place], func(e *secondEvent) bool {
		return e.kind == "granted" && h.overtakes(e, tenure)
	})
}

// lastRestart is that of the storage before that place.
func (h *secondHistory) lastRestart(place int) (restart *secondEvent) {
	for _, e := range h.order[:place] {
		if e.lane == "storage" && e.kind == "restart" {
			restart = e
		}
	}
	return restart
}

// loseWithRestarts finds the changes that may be gone, and are.
func (h *secondHistory) loseWithRestarts() {
	h.gone = make(map[*secondEvent]*secondEvent)
	found := make(map[*secondEvent]bool)
	for _, e := range h.order {
		if !e.finds() || h.off["lost: with a restart"] || h.open(e.key, e.place) {
			continue
		}
		restart := h.lastRestart(e.place)
		for last := h.lastChange(e.key, e.place); last != nil; last = h.lastChange(e.key, e.place) {
			told := found[last] && !h.off["lost: not what a read found"] ||
				h.acknowledged(last, len(h.order)) && !h.off["lost: not what was acknowledged"]
			if found[last] = found[last] || leaves(last, e); leaves(last, e) {
				break
			}
			if restart == nil || last.place > restart.place || told {
				break
			}
			h.gone[last] = restart
		}
	}
}

// leaves says whether e finds what change left.
func leaves(change, e *secondEvent) bool {
	if change == nil || change.op == "delete" {
		return e.missing
	}
	return !e.missing && e.value == change.value
}

// lastChange is that of a key before that place; nil where there is none.
func (h *secondHistory) lastChange(key string, place int) (last *secondEvent) {
	for _, e := range h.order[:place] {
		if restart := h.gone[e]; e.changesKey() && e.key == key && (restart == nil || restart.place > place) {
			last = e
		}
	}
	return last
}
