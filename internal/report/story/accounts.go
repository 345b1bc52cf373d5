package story

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
	row.Text = append(Say("%s waits in the queue for %s,", name(e.Client), lock(e.Scope)), ticket(e)...)
	b.add(e, row)
}

func (b *Builder) granted(e history.Event, r *request) {
	g := b.tenures.grant(e)
	b.holds(e.Client, g)
	text := slices.Concat(Say("%s holds %s:", name(e.Client), lock(e.Scope)), token(e, "", ""), b.unheard(e, r))
	b.add(e, Row{Class: ClassGrant, To: e.Client, Tenure: g.n, Token: g.token, Text: text})
}

// asksFor takes in that a client asks for a lock, or what it is told of that.
func (b *Builder) asksFor(e history.Event) {
	if asksForLock(e.Op) && e.Reason != reasonHeld {
		b.gaveUp[asking{e.Lane, "", e.Scope}] = e.Kind == history.KindFail || e.Kind == history.KindUnknown
	}
}

// unheard says why the client of a grant does not hear of it, else for how long it waited.
func (b *Builder) unheard(e history.Event, r *request) Text {
	client := b.find(e.Client)
	switch {
	case client != nil && client.State == Dead:
		return Say("(it is dead)")
	case client != nil && client.State == Paused:
		return Say("(it stands still)")
	case b.gaveUp[asking{e.Client, "", e.Scope}]:
		return Say("(it has given up, and does not know)")
	}
	return since(r, e, "(it waited for %s)")
}

// holds notes that a lane holds a tenure from now on.
func (b *Builder) holds(client string, g *tenure) {
	if l := b.lane(client); l != nil {
		b.held[l.Name] = append(b.held[l.Name], g.n)
		l.Tenure = g.n
	}
}

// letsGo notes that a lane does not hold a tenure any longer. It may hold others.
func (b *Builder) letsGo(l *Lane, g *tenure) {
	left := slices.DeleteFunc(b.held[l.Name], func(n int) bool { return n == g.n })
	if b.held[l.Name], l.Tenure = left, 0; len(left) > 0 {
		l.Tenure = left[len(left)-1]
	}
}

func (b *Builder) ended(e history.Event, r *request) {
	client := b.find(e.Client)
	g := b.tenures.end(e)
	waited := g != nil && g.n == 0
	for i := range b.lanes {
		if g != nil {
			b.letsGo(&b.lanes[i], g)
		}
	}
	who, what := name(e.Client), lock(e.Scope)
	row := Row{Class: ClassRelease}
	switch {
	case waited:
		row.Text = Say("%s is in the queue for %s no longer: %s", who, what, e.Cause)
	case e.Cause == history.CauseReleased && client != nil && client.State == Running:
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

// request tells that a request comes to the storage, and what the storage does with
// it. What the storage leaves out, its client tells.
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
		row.Text = slices.Concat(Say("%s's", name(e.Client)), noun(e), part(r), token(e, "(", ")"), since(r, e, r.arrives()))
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
		row.Text = append(row.Text, done(e, b.run.Fencing, len(b.violations[b.place]) > 0)...)
		if e.Text != "" {
			row.Text = append(row.Text, Say("(%s)", e.Text)...)
		}
	}
	b.add(e, row)
}

// arrives says how a request comes to the storage that was under way.
func (r *request) arrives() string {
	if r.pending.Kind != "" {
		return "is committed %s after it was sent:"
	}
	return "arrives %s after it was sent:"
}

// carry notes on a row whose token it takes along.
func (b *Builder) carry(row *Row, e history.Event) {
	row.Token = decimal(e)
	if g := b.tenures.byID[e.Tenure]; g != nil {
		row.Tenure = g.n
	}
}

// since says how long a request took, where that is worth a word.
func since(r *request, e history.Event, format string) Text {
	if r == nil || !r.sent && e.At-r.invoke.At < slow {
		return nil
	}
	return Say(format, Took(e.At-r.invoke.At))
}

// tenures is the lock service's account: who held which lock, one after the
// other. The picture shows it apart from the tokens, which are what is judged.
type tenures struct {
	granted int                // how many so far
	byID    map[string]*tenure // those that were granted, or queued for
	holders map[string]bool    // clients that ever held a lock
}

type tenure struct {
	n          int // place in the account, from 1; 0: it waits in the queue
	client, id string
	token      string
	over       bool
}

// queue records that a tenure will come.
func (t *tenures) queue(e history.Event) *tenure {
	g := &tenure{client: e.Client, id: e.Tenure, token: decimal(e)}
	t.byID[e.Tenure] = g
	return g
}

func (t *tenures) grant(e history.Event) *tenure {
	g := t.byID[e.Tenure]
	if g == nil || g.n > 0 {
		g = t.queue(e)
	}
	t.granted++
	t.holders[e.Client] = true
	g.n, g.token = t.granted, decimal(e)
	return g
}

// end finds the tenure that e ends; nil where its grant was not seen.
func (t *tenures) end(e history.Event) *tenure {
	g := t.byID[e.Tenure]
	if g == nil || g.over {
		return nil
	}
	g.over = true
	return g
}

// shared finds the running tenure of another client that e names as its own.
func (t *tenures) shared(e history.Event) *tenure {
	if g := t.byID[e.Tenure]; e.Tenure != "" && g != nil && !g.over && g.client != e.Lane {
		return g
	}
	return nil
}

// again reports whether a client was granted a tenure before that goes on.
func (t *tenures) again(e history.Event) bool {
	g := t.byID[e.Tenure]
	return e.Tenure != "" && g != nil && !g.over && g.client == e.Lane
}

func decimal(e history.Event) string {
	if e.Token == 0 {
		return ""
	}
	return e.Token.String()
}
