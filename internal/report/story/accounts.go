package story

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// The accounts of lock service and storage: each entry is a row, with the request that it answers.

// queued tells that a client stands behind the holder, instead of that it asks and waits, or after it.
func (b *Builder) queued(e history.Event, r *request) {
	b.lane(e.Client)
	row := Row{Class: ClassQueue, Lane: e.Client, To: e.Lane}
	if r != nil {
		if r.sent {
			row.To = ""
		}
		r.sent = true
	}
	row.Text = append(Say("%s waits in the queue for %s,", name(e.Client), lock(e.Scope)), ticket(e)...)
	b.add(e, row)
}

func (b *Builder) granted(e history.Event, r *request) {
	text := slices.Concat(Say("%s holds %s:", name(e.Client), lock(e.Scope)), token(e, "", ""), b.unheard(e, r))
	b.add(e, Row{Class: ClassGrant, To: e.Client, Tenure: b.ledger.Tenure(e.Tenure).N, Token: history.Decimal(e.Token), Text: text})
}

// unheard says why the client of a grant does not hear of it, else for how long it waited.
func (b *Builder) unheard(e history.Event, r *request) Text {
	client, ask := b.ledger.Actor(e.Client), b.ledger.Ask(e.Client, e.Scope)
	switch {
	case client.Dead():
		return Say("(it is dead)")
	case client.Paused():
		return Say("(it stands still)")
	case ask != nil && ask.Answer.Came() && ask.Answer.Kind != history.KindOK && ask.Answer.Reason != reasonHeld:
		return Say("(it has given up, and does not know)")
	}
	return since(r, e, "(it waited for %s)")
}

func (b *Builder) ended(e history.Event, r *request) {
	client, g := b.ledger.Actor(e.Client), b.ledger.Tenure(e.Tenure)
	who, what := name(e.Client), lock(e.Scope)
	row := Row{Class: ClassRelease}
	switch {
	case g.Queued.Came() && !g.Granted.Came():
		row.Text = Say("%s is in the queue for %s no longer: %s", who, what, e.Cause)
	case e.Cause == history.CauseReleased && !client.Dead() && !client.Paused():
		row.Lane, row.To = e.Client, e.Lane
		row.Text = append(releases(e, g, r), since(r, e, "(it took %s)")...)
	case e.Cause == history.CauseExpired && e.Text != "": // it had no lease
		row.Class, row.Text = ClassExpiry, Say("%s's tenure of %s ended %s%s", who, what, e.Text, whileStopped(client, e))
	case e.Cause == history.CauseExpired:
		row.Class, row.Text = ClassExpiry, Say("%s's lease on %s expired%s", who, what, whileStopped(client, e))
	case e.Cause == history.CauseRevoked:
		row.Class, row.Text = ClassExpiry, Say("%s's lease on %s was revoked%s", who, what, whileStopped(client, e))
		if e.Text != "" {
			row.Text = append(end(row.Text, ":"), Say("%s", e.Text)...)
		}
	default:
		row.Text = Say("%s's tenure of %s is over: %s", who, what, e.Cause)
	}
	b.add(e, row)
}

// request tells what the storage does with a request. What the storage leaves out, its client tells.
func (b *Builder) request(e history.Event, r *request) {
	if r != nil {
		r.parts++
		e = merge(e, r.invoke)
	}
	row := Row{Class: ClassAdmit, Lane: e.Client, To: e.Lane, Request: e.Request}
	if row.Lane == "" {
		row.Lane, row.To = e.Lane, ""
	}
	b.carry(&row, e)
	if r != nil && r.sent {
		row.Leg = Arrived
		row.Text = slices.Concat(Say("%s's", name(e.Client)), noun(e), part(r), token(e, "(", ")"), r.arrives(e))
	} else {
		row.Text = end(slices.Concat(doing(e), part(r)), ":")
	}
	switch e.Kind {
	case history.KindRefused:
		row.Class = ClassRefuse
		row.Text = append(row.Text, refusal(e)...)
	case history.KindDuplicate:
		row.Text = append(row.Text, Say("a duplicate, done before and not done again")...)
	case history.KindUnanswered:
		row.Class = ClassNote
		row.Text = because(append(row.Text, Strong("NO ANSWER")...), e)
	default:
		if mark := e.Mark.String(); e.Mark != 0 && b.run.Fencing && b.marks[e.Scope] != mark {
			b.marks[e.Scope], row.Mark = mark, mark
		}
		row.Text = append(row.Text, done(e, b.run.Fencing, slices.ContainsFunc(b.violations[b.place], func(v history.Violation) bool { return v.Verdict != "" }))...)
		if e.Text != "" {
			row.Text = append(row.Text, Say("(%s)", e.Text)...)
		}
	}
	b.add(e, row)
}

// arrives says when a request arrives that was sent before; of a story without time only that it does.
func (r *request) arrives(e history.Event) Text {
	verb := "arrives"
	if r.pending.Kind != "" {
		verb = "is committed"
	}
	if e.At == r.invoke.At {
		return Say("%s:", verb)
	}
	return since(r, e, verb+" %s after it was sent:")
}

func (b *Builder) carry(row *Row, e history.Event) {
	row.Token, row.Tenure = history.Decimal(e.Token), b.ledger.Tenure(e.Tenure).N
}

// since says how long a request took, where that is worth a word.
func since(r *request, e history.Event, format string) Text {
	if r == nil || e.At == r.invoke.At || !r.sent && e.At-r.invoke.At < slow {
		return nil
	}
	return Say(format, Took(e.At-r.invoke.At))
}
