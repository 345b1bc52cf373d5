package report

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
)

// The accounts of the lock service and the storage: each entry is a row, drawn
// together with the request that it answers.

// queued tells that a client stands behind the holder: it comes instead of the
// row of a client that asks and waits, or after it.
func (b *Builder) queued(e history.Event) {
	b.lane(e.Client)
	b.tenures.queue(e)
	row := Row{Class: ClassQueue, Lane: e.Client, To: e.Lane}
	if r := b.asked(e); r != nil {
		if r.sent {
			row.To = ""
		}
		r.sent = true
	}
	row.Text = append(say("%s waits in the queue for %s,", name(e.Client), lock(e.Scope)), ticket(e)...)
	b.add(e, row)
}

// asked is the open request of a client for the lock of e.
func (b *Builder) asked(e history.Event) (r *request) {
	for _, op := range []string{history.OpLock, history.OpTryLock} {
		if e.Op = op; r == nil {
			r = b.requests.find(e.Client, e)
		}
	}
	return r
}

func (b *Builder) granted(e history.Event) {
	r := b.asked(e)
	b.account(r)
	g := b.tenures.grant(e)
	b.lane(e.Client)
	b.holds(e.Client, g)
	text := append(say("%s holds %s:", name(e.Client), lock(e.Scope)), token(e, "", "")...)
	text = append(text, since(r, e, "(it waited for %s)")...)
	b.add(e, Row{Class: ClassGrant, To: e.Client, Tenure: g.n, Token: g.token, Text: text})
}

func (b *Builder) holds(client string, g *tenure) {
	if l := b.find(client); l != nil {
		l.Tenure = g.n
	}
}

func (b *Builder) ended(e history.Event) {
	e.Op = history.OpUnlock
	r := b.requests.find(e.Client, e)
	b.account(r)
	client := b.find(e.Client)
	waited := false
	g := b.tenures.end(e)
	if g != nil {
		waited = g.n == 0
		for i := range b.lanes {
			if !waited && b.lanes[i].Tenure == g.n {
				b.lanes[i].Tenure = 0
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

func (b *Builder) applied(e history.Event) {
	b.revive(e.Lane)
	e, r := b.match(e)
	sent := e.At
	if r != nil {
		sent = r.invoke.At
	}
	h := b.tenures.apply(e, sent)
	row := b.request(e, r)
	b.raise(&row, e)
	row.Class = ClassAdmit
	if h != (harm{}) {
		row.Class = ClassCorrupt
	}
	row.Text = append(row.Text, done(e, h, b.run.Fencing)...)
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
	if b.marks == nil {
		b.marks = map[string]string{}
	}
	b.marks[e.Scope], row.Mark = mark, mark
}

func (b *Builder) refused(e history.Event) {
	b.revive(e.Lane)
	e, r := b.match(e)
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
		row.Text = slices.Concat(say("%s's", name(e.Client)), noun(e), part(r, e), token(e, "(", ")"), since(r, e, "arrives %s after it was sent:"))
		return row
	}
	row.Text = colon(slices.Concat(doing(e), part(r, e), since(r, e, "(it took %s)")))
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
