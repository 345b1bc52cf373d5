package report

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// The accounts of the lock service and the storage: each entry is a row, drawn
// together with the request that it answers.

func (b *Builder) granted(e history.Event) {
	var r *request
	for _, op := range []string{history.OpLock, history.OpTryLock} {
		if r == nil {
			e.Op = op
			_, r = b.account(e.Client, e)
		}
	}
	g := b.tenures.grant(e)
	b.lane(e.Client)
	if l := b.find(e.Client); l != nil {
		l.Tenure = g.n
	}
	text := append(say("%s holds %s:", name(e.Client), lock(e.Scope)), token(e, "", "")...)
	text = append(text, since(r, e, "(it waited for %s)")...)
	b.add(e, Row{Class: ClassGrant, To: e.Client, Tenure: g.n, Token: g.token, Text: text})
}

func (b *Builder) ended(e history.Event) {
	e.Op = history.OpUnlock
	_, r := b.account(e.Client, e)
	client := b.find(e.Client)
	if g := b.tenures.end(e); g != nil && client != nil && client.Tenure == g.n {
		client.Tenure = 0
	}
	switch {
	case e.Cause == history.CauseReleased && client != nil && client.State == Running:
		text := say("%s releases %s", name(e.Client), lock(e.Scope))
		b.add(e, Row{Class: ClassRelease, Lane: e.Client, To: e.Lane, Text: append(text, since(r, e, "(it took %s)")...)})
	case e.Cause == history.CauseExpired:
		b.add(e, Row{Class: ClassExpiry, Text: say("%s's lease on %s expired%s", name(e.Client), lock(e.Scope), whileStopped(client, e))})
	default:
		b.add(e, Row{Class: ClassRelease, Text: say("%s's tenure of %s is over: %s", name(e.Client), lock(e.Scope), e.Cause)})
	}
}

func (b *Builder) applied(e history.Event) {
	b.revive(e.Lane)
	e, r := b.account(e.Client, e)
	later, destroyed := b.tenures.apply(e)
	row := b.request(e, r)
	switch {
	case later == nil && b.run.Fencing && e.Mark != 0:
		row.Class = ClassAdmit
		row.Text = slices.Concat(row.Text, say("admitted,"), strong("mark"+tie+"%s", e.Mark))
	case later == nil:
		row.Class = ClassAdmit
		row.Text = append(row.Text, say("applied%s", unchecked(b.run.Fencing))...)
	case destroyed.by != nil && destroyed.deleted:
		row.Class = ClassCorrupt
		row.Text = slices.Concat(row.Text, strong("APPLIED%s:", unchecked(b.run.Fencing)),
			say("%s's delete of %s is undone", name(destroyed.by.client), name(e.Key)))
	case destroyed.by != nil:
		row.Class = ClassCorrupt
		row.Text = slices.Concat(row.Text, strong("APPLIED%s:", unchecked(b.run.Fencing)), say("%s's", name(destroyed.by.client)),
			solid(pair(e.Key, destroyed.value)), say("is destroyed"))
	default:
		row.Class = ClassCorrupt
		row.Text = slices.Concat(row.Text, strong("APPLIED%s,", unchecked(b.run.Fencing)),
			say("though %s, the later holder, had been there", name(later.client)))
	}
	if e.Text != "" {
		row.Text = append(row.Text, say("(%s)", e.Text)...)
	}
	b.add(e, row)
}

func (b *Builder) refused(e history.Event) {
	b.revive(e.Lane)
	e, r := b.account(e.Client, e)
	row := b.request(e, r)
	row.Class = ClassRefuse
	row.Text = append(row.Text, refusal(e)...)
	b.add(e, row)
}

// request is the row in which a request comes to the storage, up to the colon.
func (b *Builder) request(e history.Event, r *request) Row {
	row := Row{Lane: e.Client, To: e.Lane, Request: e.Request}
	if row.Lane == "" {
		row.Lane, row.To = e.Lane, ""
	}
	b.carry(&row, e)
	if r != nil && r.sent {
		row.Leg = Arrived
		row.Text = slices.Concat(say("%s's", name(e.Client)), noun(e), token(e, "(", ")"), since(r, e, "arrives %s after it was sent:"))
		return row
	}
	row.Text = colon(append(doing(e), since(r, e, "(it took %s)")...))
	return row
}

// carry notes on a row whose token it takes along.
func (b *Builder) carry(row *Row, e history.Event) {
	if e.Client == "" {
		e.Client = e.Lane
	}
	row.Token = decimal(e)
	if g := b.tenures.of(e); g != nil {
		row.Tenure = g.n
	}
}

func (b *Builder) final(e history.Event) {
	b.add(e, Row{Class: ClassFinal, Text: append(say("at the end:"), value(e.Key, e)...)})
}

// since says how long a request took, where that is worth a word.
func since(r *request, e history.Event, format string) Text {
	if r == nil || !r.sent && e.At-r.invoke.At < slow {
		return nil
	}
	return say(format, took(e.At-r.invoke.At))
}
