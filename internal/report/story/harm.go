package story

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// A picture finds no harm of its own: it shows the judgement's violations, at their events. So it does with
// what makes a fact false, as that grants are not fair; that is no harm by itself.

// harm shows the violations at b.place in its rows, from the first one on; without rows, in one of its own.
func (b *Builder) harm(first int) {
	list := b.violations[b.place]
	switch {
	case len(list) == 0:
	case len(b.rows) == first:
		b.accuse(list[0])
	default:
		b.harmed[b.place] = true
		row := &b.rows[len(b.rows)-1]
		row.Class.common = false
		for _, v := range list {
			if !row.Harmful() && v.Verdict != "" {
				row.Class = classOf(v)
			}
			sign, fault := fault(v, row.Event, b.eventAt(v.Before))
			row.Text = append(end(row.Text, sign), fault...)
		}
	}
}

// accuse draws a violation in a row of its own, in the words of the judgement.
func (b *Builder) accuse(v history.Violation) {
	b.place = v.Event
	b.harmed[v.Event] = true
	text := Strong("%s:", cmp.Or(strings.ToUpper(Clean(v.Verdict, MaxName)), untrue[v.Kind]))
	b.add(b.events[v.Event], Row{Class: classOf(v), Text: append(text, Say("%s", tied(v.Text))...)})
}

func classOf(v history.Violation) Class {
	switch v.Verdict {
	case "":
		return ClassNote
	case history.Blocked:
		return ClassBlock
	}
	return ClassHarm
}

// untrue are the facts that are false where there is such a finding.
var untrue = map[history.ViolationKind]string{history.Overlap: "NOT EXCLUSIVE", history.Passed: "NOT FAIR", history.Unanswered: "UNDECIDED", history.Unordered: "UNDECIDED", history.Unmeasured: "UNDECIDED", history.Starved: "UNDECIDED"}

// eventAt is the event at a place of the history, with what its client says of it.
func (b *Builder) eventAt(place int) history.Event {
	if place < 0 || place >= len(b.events) {
		return history.Event{}
	}
	e := b.events[place]
	if r := b.requests.named[e.Request]; r != nil {
		return merge(e, r.invoke)
	}
	return e
}

// fault says what is wrong with a row's event, and the sign before that. before is the other event.
func fault(v history.Violation, e, before history.Event) (sign string, t Text) {
	who := name(before.Client)
	theirs := change(who+"'s", before)
	over := before.Key == e.Key && before.Op != history.OpRead && e.Op != history.OpRead
	destroyed := slices.Concat(theirs, Say("is destroyed"))
	if before.Op == history.OpDelete {
		destroyed = slices.Concat(theirs, Say("is undone"))
	}
	switch v.Kind {
	case history.Stale:
		if over {
			return ":", destroyed
		}
		return ",", Say("though %s, the later holder, had been there", who)
	case history.Unheld:
		if over {
			return ",", append(Say("without the lock:"), destroyed...)
		}
		return ",", Say("without the lock, though %s, its holder, had been there", who)
	case history.Unguarded:
		return ":", append(destroyed, Say("and was made under another lock, %s", lock(before.Scope))...)
	case history.Shared:
		return ",", Say("though %s works in the same tenure", who)
	case history.Late:
		return ":", append(change("its later", before), Say("is undone, though it was acknowledged")...)
	case history.Lost:
		if v.Before < 0 {
			return ",", append(Say("which nobody wrote:"), Strong("LOST")...)
		}
		return ":", slices.Concat(theirs, Say("is"), Strong("LOST"))
	case history.Denied:
		if e.Kind == history.KindFail {
			return ",", append(Say("but it was"), Strong("APPLIED")...)
		}
		return ",", Say("though %s was told that it failed", name(e.Client))
	case history.Torn:
		return ":", slices.Concat(theirs, Say("is"), Strong("HALF of a change"))
	case history.Refusal:
		return ",", append(Say("though %s", name(e.Client)), Strong("HOLDS the lock")...)
	case history.NotGranted:
		if e.Kind == history.KindFail || e.Kind == history.KindUnknown {
			return ",", append(Say("though the lock was"), Strong("FREE")...)
		}
	case history.Unanswered:
		return ":", Say("nobody knows whether it was done")
	case history.Overlap:
		return ",", append(Say("though %s's tenure is not over:", who), Strong("%s", untrue[v.Kind])...)
	case history.Passed:
		return ",", append(Say("though %s had queued earlier:", who), Strong("%s", untrue[v.Kind])...)
	}
	return ":", Say("%s", tied(v.Text))
}

func change(whose string, e history.Event) Text {
	if e.Op == history.OpDelete {
		return Say("%s delete of %s", whose, name(e.Key))
	}
	return append(Say("%s", whose), Solid(pair(e.Key, e.Value))...)
}
