package story

import "github.com/fencelab/fencelab/internal/history"

// Fate says in a few words what became of the change that a later request came over,
// or would have; nil where the run is about something else.
func (b *Builder) Fate(o Outcome) Text {
	for _, v := range o.Violations {
		e, before := b.eventAt(v.Event), b.eventAt(v.Before)
		if changes(before) && before.Key == e.Key && (changes(e) || v.Kind == history.Lost) {
			return words(Bad, "%s's %s is lost", name(before.Client), before.Op)
		}
	}
	if len(o.Violations) > 0 {
		return nil
	}
	last := make(map[string]history.Event) // key → its last change
	for i := range b.events {
		e := b.eventAt(i)
		over := last[e.Key]
		switch {
		case !changes(e):
		case e.Kind == history.KindApplied:
			last[e.Key] = e
		case e.Kind == history.KindRefused && e.Reason == "stale" && over.Token > e.Token:
			return words(Good, "%s's %s is safe", name(over.Client), over.Op)
		}
	}
	return nil
}

func changes(e history.Event) bool { return e.Op == history.OpWrite || e.Op == history.OpDelete }
