package judge_test

import (
	"maps"
	"slices"
)

// What docs/histories.md says of processor time that the machine did not give.

// starves says whether one of some lanes starves between two lines.
func (h *secondHistory) starves(from, to *secondEvent, lanes ...string) bool {
	return h.hungry(from, to, lanes) != nil
}

// hungry are the lines that say so.
func (h *secondHistory) hungry(from, to *secondEvent, lanes []string) []*secondEvent {
	return h.all(func(e *secondEvent) bool {
		const second = 1_000_000_000
		return e.kind == "starved" && slices.Contains(lanes, e.lane) && !h.off["starved"] &&
			(e.at > from.at || h.off["starved: since the grant"]) && e.at-second < to.at
	})
}

// without is how long a time is without that for which the lock service, or others, starve.
func (h *secondHistory) without(time secondTime, to *secondEvent, others ...string) int64 {
	took := to.at - time.begins.at
	for _, e := range h.hungry(time.begins, to, append(others, h.events[0].service)) {
		if !h.off["starved: without its time"] {
			took -= e.took
		}
	}
	return took
}

// starvedOut says whether a tenure ran out before that place, because of the machine.
func (h *secondHistory) starvedOut(tenure *secondEvent, place int) bool {
	if tenure == nil || h.off["starved"] {
		return false
	}
	service := h.events[0].service
	awaited := h.any(func(e *secondEvent) bool { return e.kind == "awaited" && e.tenure == tenure.tenure })
	return slices.ContainsFunc(h.order[:place], func(end *secondEvent) bool {
		if end.kind != "ended" || end.tenure != tenure.tenure {
			return false
		}
		still := func(lane string) bool {
			return h.hindered(lane, end.place) || slices.ContainsFunc(h.order[tenure.place:end.place], func(e *secondEvent) bool {
				return e.lane == lane && e.fault() != ""
			})
		}
		var lanes []string
		if !h.off["starved: its client"] {
			lanes = append(lanes, tenure.client)
		}
		if !h.off["starved: the lock service"] {
			lanes = append(lanes, service)
		}
		return (end.cause == "expired" || h.off["starved: expired"]) &&
			(!awaited || h.off["starved: not awaited"]) &&
			(!still(tenure.client) || h.off["starved: no fault of its client"]) &&
			(!still(service) || h.off["starved: no fault of the lock service"]) &&
			h.starves(tenure, end, lanes...)
	})
}

// gaveUp says whether a client did not get a lock because of the machine.
func (h *secondHistory) gaveUp(answer *secondEvent) bool {
	var asked *secondEvent
	for _, e := range h.events[:answer.line-1] {
		if e.kind == "invoke" && e.op == answer.op && e.lane == answer.lane && e.scope == answer.scope && e.request == answer.request {
			asked = e
		}
	}
	return asked != nil && answer.reason == "" && !h.off["starved: not-granted"] && h.starves(asked, answer, answer.lane, h.events[0].service, "storage")
}

// excused are what is wrong but for the machine.
func (h *secondHistory) excused() (found []*secondEvent) {
	if !h.any(func(e *secondEvent) bool { return e.kind == "starved" }) {
		return nil
	}
	well := *h
	well.off = maps.Clone(h.off)
	if well.off == nil {
		well.off = make(map[string]bool)
	}
	well.off["starved"] = true
	for _, rule := range slices.Concat(secondCorruptions, secondBlockages) {
		if !h.off[rule.name] && len(rule.find(&well)) > len(rule.find(h)) {
			found = append(found, rule.find(&well)...)
		}
	}
	return found
}
