package report

import (
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// A picture finds no harm of its own: it shows the violations that the judgement
// found, at the events that they name.

// harm has the rows of the event at b.place show the violations at it. These rows
// are those from the given one on; an event that has none gets one.
func (b *Builder) harm(from int) {
	list := b.violations[b.place]
	switch {
	case len(list) == 0:
	case len(b.rows) == from:
		b.accuse(list[0])
	default:
		b.harmed[b.place] = true
		row := &b.rows[len(b.rows)-1]
		row.Class = classOf(list[0])
		for _, v := range list {
			sign, fault := fault(v, row.Event, b.eventAt(v.Before))
			row.Text = append(end(row.Text, sign), fault...)
		}
	}
}

// accuse draws a violation in a row of its own, in the words of the judgement.
func (b *Builder) accuse(v history.Violation) {
	b.place = v.Event
	b.harmed[v.Event] = true
	text := strong("%s:", strings.ToUpper(clean(v.Verdict, maxName)))
	b.add(b.events[v.Event], Row{Class: classOf(v), Text: append(text, say("%s", tied(v.Text))...)})
}

func classOf(v history.Violation) Class {
	if v.Verdict == history.Blocked {
		return ClassBlock
	}
	return ClassHarm
}

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

// fault says what is wrong, after the words of the row of the violation's event,
// and the sign between them. before is the other event that makes it.
func fault(v history.Violation, e, before history.Event) (sign string, t Text) {
	who := name(before.Client)
	theirs := change(who+"'s", before)
	over := before.Key == e.Key && before.Op != history.OpRead
	destroyed := append(slices.Clone(theirs), say("is destroyed")...)
	if before.Op == history.OpDelete {
		destroyed = append(slices.Clone(theirs), say("is undone")...)
	}
	switch v.Kind {
	case history.Stale:
		if over {
			return ":", destroyed
		}
		return ",", say("though %s, the later holder, had been there", who)
	case history.Unheld:
		if over {
			return ",", append(say("without the lock:"), destroyed...)
		}
		return ",", say("without the lock, though %s, its holder, had been there", who)
	case history.Unguarded:
		return ":", append(destroyed, say("and was made under another lock, %s", lock(before.Scope))...)
	case history.Shared:
		return ",", say("though %s works in the same tenure", who)
	case history.Late:
		return ":", append(change("its later", before), say("is undone, though it was acknowledged")...)
	case history.Lost:
		if v.Before < 0 {
			return ",", append(say("which nobody wrote:"), strong("LOST")...)
		}
		return ":", slices.Concat(theirs, say("is"), strong("LOST"))
	case history.Denied:
		if e.Kind == history.KindFail {
			return ",", append(say("but it was"), strong("APPLIED")...)
		}
		return ",", say("though %s was told that it failed", name(e.Client))
	case history.Torn:
		return ":", slices.Concat(theirs, say("is"), strong("HALF of a change"))
	case history.Refusal:
		return ",", append(say("though %s", name(e.Client)), strong("HOLDS the lock")...)
	case history.NotGranted:
		return ",", append(say("though the lock was"), strong("FREE")...)
	}
	return ":", say("%s", tied(v.Text))
}

// change names what a change made.
func change(whose string, e history.Event) Text {
	if e.Op == history.OpDelete {
		return say("%s delete of %s", whose, name(e.Key))
	}
	return append(say("%s", whose), solid(pair(e.Key, e.Value))...)
}
