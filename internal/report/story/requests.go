package story

import (
	"cmp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// slow is how long a request may be under way before it is drawn as two steps.
const slow = 100 * time.Millisecond

// reasonHeld is why a client asked nobody for a lock: it has the lock already.
const reasonHeld = "held"

type request struct {
	invoke  history.Event
	account history.Kind  // what the lock service or the storage told of it, now or later in the batch; "": nothing
	settled bool          // it is known what became of it
	sent    bool          // it is drawn where it was sent
	pending history.Event // what is told of it before its transaction is committed; zero: it is part of none
	parts   int           // writes of it that were told of so far
	inside  bool          // it is an unlock, and a part of the client's request for the lock, which it has not got
}

// requests join the accounts. They look ahead, so that a long request is drawn where it was sent.
type requests struct {
	named map[string]*request
	open  map[asking]*request // the last one that a client made
	last  map[string]*request // client → its last one of all
}

// asking is what a request is known by that has no name: locks have none.
type asking struct{ client, op, scope string }

// look returns each event's request, or nil. Clocks may differ: an account may precede its client's word.
func (rs *requests) look(events []history.Event) []*request {
	about := make([]*request, len(events))
	for i, e := range events {
		if e.Kind == history.KindInvoke && e.Op != history.OpCount { // the steps of a count are requests of their own
			about[i] = &request{invoke: e}
			if e.Request != "" && rs.named[e.Request] == nil {
				rs.named[e.Request] = about[i]
			}
		}
	}
	for i, e := range events {
		rs.hit(e)
		switch r := rs.about(e); {
		case about[i] != nil:
			rs.ask(about[i])
		case r != nil:
			about[i] = r
			rs.learn(r, e)
		}
	}
	for _, r := range rs.last { // what becomes of it this batch does not have
		r.wait()
	}
	return about
}

// wait notes that a request is under way for longer than a step, where it is not known what became of it.
func (r *request) wait() { r.sent = r.sent || !r.settled }

// ask takes in a request. Whatever its client still waits for is under way for longer than a step.
func (rs *requests) ask(r *request) {
	e, before := r.invoke, rs.last[r.invoke.Lane]
	r.inside = e.Op == history.OpUnlock && e.Tenure == "" && before != nil && !before.settled &&
		history.AsksForLock(before.invoke.Op) && before.invoke.Scope == e.Scope
	rs.open[askingOf(e.Lane, e)] = r
	if r.inside {
		return
	}
	if before != nil {
		before.wait()
	}
	rs.last[e.Lane] = r
	if e.Request != "" {
		rs.named[e.Request] = r
	}
}

// hit notes that requests are under way whose client or server is hit by a fault.
func (rs *requests) hit(e history.Event) {
	switch e.Kind {
	case history.KindPause, history.KindKill, history.KindNetwork:
		for client, r := range rs.last {
			if e.Lane == client || e.Lane == server(r.invoke.Op) {
				r.wait()
			}
		}
	}
}

// askingOf is how a client's request is known that an event is about. A look may leave out the scope.
func askingOf(client string, e history.Event) asking {
	if server(e.Op) == history.LaneStorage {
		e.Scope = ""
	}
	return asking{client, e.Op, e.Scope}
}

// about is the request that an event other than its invoke is about, or nil.
func (rs *requests) about(e history.Event) *request {
	switch e.Kind {
	case history.KindGranted, history.KindQueued:
		for _, e.Op = range []string{history.OpLock, history.OpTryLock} {
			if r := rs.open[askingOf(e.Client, e)]; r != nil && r.account != history.KindGranted {
				return r
			}
		}
	case history.KindEnded:
		if e.Op = history.OpUnlock; e.Cause == history.CauseReleased {
			return rs.open[askingOf(e.Client, e)]
		}
	case history.KindApplied, history.KindRefused, history.KindDuplicate, history.KindUnanswered:
		return rs.find(e.Client, e)
	case history.KindOK, history.KindFail, history.KindUnknown:
		return rs.find(e.Lane, e)
	case history.KindNote:
		return rs.named[e.Request]
	}
	return nil
}

func (rs *requests) find(client string, e history.Event) *request {
	r, ofStorage := rs.open[askingOf(client, e)], server(e.Op) == history.LaneStorage
	switch {
	case ofStorage && rs.named[e.Request] != nil:
		return rs.named[e.Request]
	case ofStorage && r != nil && e.Request != "" && r.invoke.Request != "":
		return nil // of another one
	}
	return r
}

func (rs *requests) learn(r *request, e history.Event) {
	switch e.Kind {
	case history.KindUnknown:
		r.wait()
		return
	case history.KindNote:
		r.pending = e
		r.wait()
		return
	case history.KindGranted, history.KindEnded, history.KindApplied, history.KindRefused, history.KindDuplicate, history.KindUnanswered:
		r.account = e.Kind
	}
	if e.Kind == history.KindFail || e.Kind == history.KindOK && r.account != "" {
		delete(rs.open, askingOf(r.invoke.Lane, r.invoke))
	}
	if e.At-r.invoke.At >= slow {
		r.wait()
	}
	r.settled = true
}

// invoke draws a request that is under way for longer than a step. Else its outcome says that it was sent.
func (b *Builder) invoke(e history.Event, r *request) {
	switch {
	case e.Op == history.OpCount:
		b.add(e, Row{Class: ClassNote, Text: doing(e)})
	case r.inside:
		b.add(e, Row{Class: ClassSend, To: server(e.Op), Text: append(end(doing(e), ","), Say("which it has not got")...)})
	case r.sent && history.AsksForLock(e.Op):
		b.add(e, Row{Class: ClassSend, To: server(e.Op), Text: append(doing(e), Say("and waits")...)})
	case r.sent:
		row := Row{Class: ClassSend, To: server(e.Op), Leg: Sent, Request: e.Request, Text: r.yet(doing(e))}
		b.carry(&row, e)
		b.add(e, row)
	}
}

// yet says how far a request is that is under way, after what it does.
func (r *request) yet(does Text) Text {
	switch {
	case r.pending.Kind == "":
		return append(does, Say("(not answered yet)")...)
	case r.pending.Op == history.OpRead:
		does = slices.Concat(end(does, ","), Say("and gets"), value(r.pending.Key, r.pending))
	}
	return append(does, Say("(not committed yet)")...)
}

// answer takes what a client was told. It is a row where it tells more than the other accounts.
func (b *Builder) answer(e history.Event, r *request) {
	asked, account := e, history.Kind("")
	if r != nil {
		asked, account = merge(e, r.invoke), r.account
	}
	switch {
	case e.Kind == history.KindUnknown:
		b.add(e, Row{Class: ClassUnknown, Text: because(slices.Concat(Say("%s does not know whether its", e.Lane), noun(asked), Say("took effect")), e)})
	case e.Kind == history.KindOK && account != "" && r.pending.Kind != "": // its commit is told
	case e.Kind == history.KindOK && r != nil && r.inside: // what it did to another's tenure is told
	case e.Kind == history.KindOK:
		b.succeeded(e, asked, account)
	case account == history.KindRefused: // which says why
	case e.Reason == history.ReasonLost && !history.AsksForLock(asked.Op):
		class := ClassNote
		if b.ledger.Actor(e.Lane).Latest != nil {
			class = ClassLost
		}
		b.add(e, Row{Class: class, Text: refrains(asked, e.Text)})
	case asked.Op == history.OpCount || e.Reason == reasonHeld:
		b.add(e, Row{Class: ClassFail, Text: because(failed(e.Lane, asked, ""), e)})
	default:
		b.add(e, Row{Class: ClassFail, Lane: server(asked.Op), To: e.Lane, Text: because(failed(e.Lane, asked, b.ledger.Holder(asked.Scope)), e)})
	}
}

// succeeded takes a success. Where the lock service or the storage tells of it, that is the row.
func (b *Builder) succeeded(e, asked history.Event, account history.Kind) {
	t := b.ledger.Tenure(asked.Tenure)
	goesOn := asked.Tenure != "" && t.Known() && !t.Ended.Came()
	switch {
	case asked.Op == history.OpCount:
		b.add(e, Row{Class: ClassNote, Text: append(Say("%s has counted in", name(e.Lane)), Solid(asked.Key)...)})
	case asked.Op == history.OpRead:
		b.add(e, Row{Class: ClassReply, Lane: server(asked.Op), To: e.Lane, Text: append(Say("%s gets:", e.Lane), value(asked.Key, e)...)})
	case history.AsksForLock(asked.Op) && goesOn && t.Client != e.Lane:
		text := Say("%s is told that it holds %s too, by %s's tenure:", e.Lane, lock(asked.Scope), name(t.Client))
		b.add(e, Row{Class: ClassGrant, Lane: LaneService, To: e.Lane, Tenure: t.N, Token: history.Decimal(t.Token), Text: append(text, token(asked, "", "")...)})
	case history.AsksForLock(asked.Op) && goesOn && account == "":
		text := Say("%s takes %s again, which it holds:", name(e.Lane), lock(asked.Scope))
		b.add(e, Row{Class: ClassReply, Lane: LaneService, To: e.Lane, Text: append(text, token(asked, "", "")...)})
	case account == history.KindGranted:
		if e.Token != 0 && t.Token != 0 && t.Token != e.Token {
			b.add(e, Row{Class: ClassNote, Tenure: t.N, Text: shows(e, t.Token)})
		}
	case account == "":
		b.add(e, Row{Class: ClassReply, Lane: server(asked.Op), To: e.Lane,
			Text: slices.Concat(Say("%s is told that its", name(e.Lane)), noun(asked), Say("succeeded"))})
	}
}

// merge fills in what e leaves out and the client's own account says.
func merge(e, invoke history.Event) history.Event {
	e.Op = cmp.Or(e.Op, invoke.Op)
	e.Client = cmp.Or(e.Client, invoke.Lane)
	e.Tenure = cmp.Or(e.Tenure, invoke.Tenure)
	e.Scope = cmp.Or(e.Scope, invoke.Scope)
	e.Key = cmp.Or(e.Key, invoke.Key)
	e.Token = cmp.Or(e.Token, invoke.Token)
	e.Value = cmp.Or(e.Value, invoke.Value)
	e.RetryOf = cmp.Or(e.RetryOf, invoke.RetryOf)
	if e.Changes == nil && e.Op == history.OpChange {
		e.Changes = invoke.Changes
	}
	return e
}

func server(op string) string {
	if history.AsksForLock(op) || op == history.OpUnlock || op == history.OpRenew {
		return LaneService
	}
	return history.LaneStorage
}
