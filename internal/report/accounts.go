package report

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// The accounts of the lock service and the storage: each entry is a row, drawn
// together with the request that it answers.

// queued tells that a client stands behind the holder: it comes instead of the
// row of a client that asks and waits, or after it.
func (b *Builder) queued(e history.Event, r *request) {
	b.lane(e.Client)
	b.tenures.queue(e)
	row := Row{Class: ClassQueue, Lane: e.Client, To: e.Lane}
	if r != nil {
		if r.sent {
			row.To = ""
		}
		r.sent = true
	}
	row.Text = append(say("%s waits in the queue for %s,", name(e.Client), lock(e.Scope)), ticket(e)...)
	b.add(e, row)
}

func (b *Builder) granted(e history.Event, r *request) {
	g := b.tenures.grant(e)
	b.lane(e.Client)
	b.holds(e.Client, g)
	text := append(say("%s holds %s:", name(e.Client), lock(e.Scope)), token(e, "", "")...)
	text = append(text, since(r, e, "(it waited for %s)")...)
	b.add(e, Row{Class: ClassGrant, To: e.Client, Tenure: g.n, Token: g.token, Text: text})
}

func (b *Builder) holds(client string, g *tenure) {
	b.change(client, func(l *Lane) { l.Tenure = g.n })
}

func (b *Builder) ended(e history.Event, r *request) {
	client := b.find(e.Client)
	waited := false
	g := b.tenures.end(e)
	if g != nil {
		waited = g.n == 0
		for _, l := range b.lanes {
			if !waited && l.Tenure == g.n {
				b.change(l.Name, func(l *Lane) { l.Tenure = 0 })
			}
		}
	}
	switch {
	case waited:
		b.add(e, Row{Class: ClassRelease, Text: say("%s is in the queue for %s no longer: %s", name(e.Client), lock(e.Scope), e.Cause)})
	case e.Cause == history.CauseReleased && client != nil && client.State == Running:
		b.add(e, Row{Class: ClassRelease, Lane: e.Client, To: e.Lane, Text: append(releases(e, g, r), since(r, e, "(it took %s)")...)})
	case e.Cause == history.CauseExpired, e.Cause == history.CauseRevoked:
		end := "expired"
		if e.Cause == history.CauseRevoked {
			end = "was revoked"
		}
		b.add(e, Row{Class: ClassExpiry, Text: say("%s's lease on %s %s%s", name(e.Client), lock(e.Scope), end, whileStopped(client, e))})
	default:
		b.add(e, Row{Class: ClassRelease, Text: say("%s's tenure of %s is over: %s", name(e.Client), lock(e.Scope), e.Cause)})
	}
}

func (b *Builder) applied(e history.Event, r *request) {
	e, row := b.request(e, r)
	b.raise(&row, e)
	row.Class = ClassAdmit
	row.Text = append(row.Text, done(e, b.run.Fencing, len(b.violations[b.place]) > 0)...)
	if e.Text != "" {
		row.Text = append(row.Text, say("(%s)", e.Text)...)
	}
	b.add(e, row)
}

// raise notes on a row that the storage's mark is another one than before.
func (b *Builder) raise(row *Row, e history.Event) {
	mark := e.Mark.String()
	if e.Mark == 0 || !b.run.Fencing || b.marks[e.Scope] == mark {
		return
	}
	b.marks[e.Scope], row.Mark = mark, mark
}

func (b *Builder) refused(e history.Event, r *request) {
	e, row := b.request(e, r)
	row.Class = ClassRefuse
	row.Text = append(row.Text, refusal(e)...)
	b.add(e, row)
}

func (b *Builder) duplicate(e history.Event, r *request) {
	e, row := b.request(e, r)
	row.Class = ClassAdmit
	row.Text = append(row.Text, say("a duplicate, done before and not done again")...)
	b.add(e, row)
}

// request is the row in which a request comes to the storage, up to the colon, and
// what the storage tells of it with what its client does.
func (b *Builder) request(e history.Event, r *request) (history.Event, Row) {
	b.revive(e.Lane)
	if r != nil {
		r.parts++
		e = merge(e, r.invoke)
	}
	row := Row{Lane: e.Client, To: e.Lane, Request: e.Request}
	if row.Lane == "" {
		row.Lane, row.To = e.Lane, ""
	}
	b.carry(&row, e)
	if r != nil && r.sent {
		row.Leg = Arrived
		row.Text = slices.Concat(say("%s's", name(e.Client)), noun(e), part(r), token(e, "(", ")"), since(r, e, "arrives %s after it was sent:"))
		return e, row
	}
	row.Text = end(slices.Concat(doing(e), part(r)), ":")
	return e, row
}

// carry notes on a row whose token it takes along.
func (b *Builder) carry(row *Row, e history.Event) {
	row.Token = decimal(e)
	if g := b.tenures.byID[e.Tenure]; g != nil {
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
