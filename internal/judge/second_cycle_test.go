package judge_test

import "slices"

// What docs/histories.md says of clients that wait for each other.

// deadlocked is where clients wait in a cycle for too long.
func (h *secondHistory) deadlocked() (found []*secondEvent) {
	h.ofEachCycle(func(clients []string, bound int64, so func(place int) bool) {
		for _, time := range h.times(so) {
			if time.ends != nil && h.without(time, time.ends, clients...) > bound {
				found = append(found, time.ends)
			}
		}
	})
	return found
}

// deadlockedPerhaps is where clients may have waited in a cycle for too long.
func (h *secondHistory) deadlockedPerhaps() (found []*secondEvent) {
	h.ofEachCycle(func(_ []string, bound int64, so func(place int) bool) {
		for _, span := range h.spans(so) {
			if span.ends != nil && h.ran(span, span.ends) > bound {
				found = append(found, span.ends)
			}
		}
	})
	return found
}

// ofEachCycle looks at the cycles that have a bound. so says whether the clients wait so after a place.
func (h *secondHistory) ofEachCycle(look func(clients []string, bound int64, so func(place int) bool)) {
	if len(h.events[0].bounds) == 0 {
		return
	}
	at := make([][][]string, len(h.order)) // the cycles after each place
	var all [][]string
	has := func(list [][]string, clients []string) bool {
		return slices.ContainsFunc(list, func(other []string) bool { return slices.Equal(other, clients) })
	}
	for place := range h.order {
		at[place] = h.cycles(place)
		for _, clients := range at[place] {
			if !has(all, clients) {
				all = append(all, clients)
			}
		}
	}
	for _, clients := range all {
		var bound int64
		for _, client := range clients {
			own := h.events[0].bounds[client]
			if own > 0 && (bound == 0 || own < bound || h.off["deadlocked: the shortest bound"]) {
				bound = own
			}
		}
		if bound > 0 {
			look(clients, bound, func(place int) bool { return has(at[place], clients) })
		}
	}
}

// cycles are those after a place, each with its clients in order.
func (h *secondHistory) cycles(place int) (cycles [][]string) {
	waitsFor := make(map[string][]string)
	for _, ask := range h.waiters() {
		if ask.place > place || !h.waits(ask.lane, ask.scope, place) {
			continue
		}
		for _, tenure := range h.order[:place+1] {
			if tenure.kind == "granted" && tenure.scope == ask.scope && (h.holds(tenure, place+1) || h.off["cycle: a holder"]) {
				waitsFor[ask.lane] = append(waitsFor[ask.lane], tenure.client)
			}
		}
	}
	reached := make(map[string][]string) // for whom one waits, directly or by way of others
	for client := range waitsFor {
		reached[client] = slices.Clone(waitsFor[client])
		for n := 0; n < len(reached[client]) && !h.off["cycle: by way of others"]; n++ {
			for _, other := range waitsFor[reached[client][n]] {
				if !slices.Contains(reached[client], other) {
					reached[client] = append(reached[client], other)
				}
			}
		}
	}
	for client := range waitsFor {
		clients := []string{client}
		for other := range waitsFor {
			if other != client && slices.Contains(reached[client], other) && slices.Contains(reached[other], client) {
				clients = append(clients, other)
			}
		}
		slices.Sort(clients)
		if len(clients) > 1 || h.off["cycle: two clients or more"] && slices.Contains(reached[client], client) {
			cycles = append(cycles, clients)
		}
	}
	return cycles
}
