package judge_test

import "slices"

// tornAtEnd is the finals of a key that is not of one whole change with its set.
func (h *secondHistory) tornAtEnd() []*secondEvent { return h.torn("final") }

// tornRead is the reads of such a key under a tenure, which are of what an earlier
// tenure left, or none.
func (h *secondHistory) tornRead() []*secondEvent { return h.torn("applied") }

// torn is what a kind of event says of keys that are not of one whole change. What
// the other kind of event said before is not said again.
func (h *secondHistory) torn(kind string) (found []*secondEvent) {
	for _, set := range h.events[0].together {
		said := make(map[*secondEvent]bool)
		for _, e := range h.order {
			if !e.finds() || !slices.Contains(set, e.key) || h.whole(set, e.place) || !h.reliesOn(e, set) || h.opens(set, e.place) {
				continue
			}
			last := h.latest(set, e.place)
			excused := last != nil && h.starvedOut(h.tenureOf(last), e.place) && !h.off["starved: torn"]
			if e.kind == kind && !excused && (!said[last] || h.off["torn: once"]) {
				found = append(found, e)
			}
			said[last] = true
		}
	}
	return found
}

// opens says whether one of the keys is open at that place.
func (h *secondHistory) opens(set []string, place int) bool {
	return slices.ContainsFunc(set, func(key string) bool { return h.open(key, place) })
}

// lastChanges are those of the keys of a set, nil for a key that was never changed.
func (h *secondHistory) lastChanges(set []string, place int) (changes []*secondEvent) {
	for _, key := range set {
		changes = append(changes, h.lastChange(key, place))
	}
	return changes
}

// latest is the last change of any key of the set.
func (h *secondHistory) latest(set []string, place int) (latest *secondEvent) {
	for _, change := range h.lastChanges(set, place) {
		if change != nil && (latest == nil || latest.place < change.place) {
			latest = change
		}
	}
	return latest
}

// reliesOn says whether with e somebody may rely on the keys of the set.
func (h *secondHistory) reliesOn(e *secondEvent, set []string) bool {
	if e.kind == "final" {
		return true
	}
	reader, last := h.tenureOf(e), h.latest(set, e.place)
	if reader == nil || last == nil {
		return false
	}
	of := h.tenureOf(last)
	return of == nil || h.overtakes(reader, of) || h.off["torn: earlier tenures only"]
}

// whole says whether the keys of a set are of one whole change.
func (h *secondHistory) whole(set []string, place int) bool {
	changes := h.lastChanges(set, place)
	for _, change := range changes {
		if h.named(change) != h.named(changes[0]) {
			return false
		}
		if change != nil && !h.complete(change, set, place) && !h.off["torn: complete"] {
			return false
		}
	}
	return true
}

// named is the tenure that a change's request names, or else its client.
func (h *secondHistory) named(change *secondEvent) string {
	switch {
	case change == nil:
		return "never changed"
	case h.ask(change).tenure != "":
		return "tenure " + h.ask(change).tenure
	case h.off["torn: one client without tenure"]:
		return "nobody"
	}
	return "client " + h.ask(change).lane
}

// complete says whether the change of several keys to which change belongs has
// changed each key of the set that it is to change.
func (h *secondHistory) complete(change *secondEvent, set []string, place int) bool {
	ask := h.ask(change)
	if ask.op != "change" && ask.partOf == "" {
		return true
	}
	for _, c := range ask.changes {
		if slices.Contains(set, c.key) && !h.changedBy(ask, c.key, place) {
			return false
		}
	}
	return true
}

// changedBy says whether the change that ask is of, or is a part of, changed the
// key before that place.
func (h *secondHistory) changedBy(ask *secondEvent, key string, place int) bool {
	return slices.ContainsFunc(h.order[:place], func(e *secondEvent) bool {
		if !e.changesKey() || e.key != key || h.gone[e] != nil && h.gone[e].place < place {
			return false
		}
		if ask.partOf != "" && !h.off["torn: parts"] {
			return h.ask(e).partOf == ask.partOf
		}
		return h.oneRequest(e, ask)
	})
}
