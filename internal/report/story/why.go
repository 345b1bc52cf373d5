package story

import (
	"cmp"

	"github.com/fencelab/fencelab/internal/history"
)

// Why are the findings of an outcome for who does not know the rules: of work that came late, or without the lock, they
// say who held the lock, what came then, and what that did to the holder.
func (b *Builder) Why(o Outcome) []Text { return o.findings(b.why) }

func (b *Builder) why(v history.Violation) Text {
	e, before := b.eventAt(v.Event), b.eventAt(v.Before)
	holder, late := name(before.Client), name(e.Client)
	later := b.ledger.Tenure(before.Tenure).N > b.ledger.Tenure(e.Tenure).N
	var begins Text
	switch {
	case v.Kind == history.Stale && later && holder != late:
		begins = Say("%s took %s after %s, and %s. Then %s, the earlier holder, %s.",
			holder, lock(before.Scope), late, worked(before), late, worked(e))
	case v.Kind == history.Unheld:
		begins = Say("%s held %s, and %s. Then %s, which did not hold it, %s.",
			holder, lock(before.Scope), worked(before), late, worked(e))
	default:
		return Say("%s", tied(v.Text))
	}
	return append(begins, consequence(e, before)...)
}

// Sides are the client whose work did the harm of a violation, and the client to whose work or wait it was done; "": it is
// nobody's, or nobody knows whose.
func (b *Builder) Sides(v history.Violation) (by, to string) {
	e, before := b.eventAt(v.Event), b.eventAt(v.Before)
	late, first := cmp.Or(e.Client, e.Lane), cmp.Or(before.Client, before.Lane)
	switch {
	case v.Kind == history.Orphaned || v.Kind == history.Deadlocked:
		return "", ""
	case v.Verdict != history.Corrupted:
		return "", cmp.Or(first, late)
	case e.Client == "":
		return "", first
	case first != "" && first != late && e.Op != history.OpRead:
		return late, first
	}
	return "", late
}

// worked says what a request has done.
func worked(e history.Event) string {
	switch {
	case e.Op == history.OpDelete:
		return "deleted " + e.Key
	case e.Op == history.OpRead && e.Value != "":
		return "read " + pair(e.Key, e.Value)
	case e.Op == history.OpRead:
		return "read " + e.Key
	}
	return "wrote " + pair(e.Key, e.Value)
}

// consequence says what work that came too late has done to the work before.
func consequence(e, before history.Event) Text {
	holder, late := name(before.Client), name(e.Client)
	switch {
	case e.Op == history.OpRead:
		return Say("What %s read may be half of %s's work.", late, holder)
	case e.Key != before.Key:
		return Say("So what %s knows of %s may be out of date: the lock was to keep all others out.", holder, e.Key)
	case before.Op == history.OpRead:
		return Say("So what %s has read is out of date, and %s does not know.", holder, holder)
	case before.Op == history.OpDelete:
		return Say("That undid %s's delete, and %s does not know.", holder, holder)
	}
	return Say("That destroyed what %s wrote, and %s does not know.", holder, holder)
}

// Fate says what became of the work that a late request came after, or would have; nil: of none.
func (b *Builder) Fate(o Outcome) Text {
	for _, v := range o.Violations {
		e, before := b.eventAt(v.Event), b.eventAt(v.Before)
		switch {
		case before.Key != e.Key:
		case changes(before) && (changes(e) || v.Kind == history.Lost):
			return words(Bad, "%s's %s is lost", name(before.Client), before.Op)
		case before.Op == history.OpRead && changes(e):
			return words(Bad, "%s's read is out of date", name(before.Client))
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
