package report

import (
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// slow is how long a request may be under way before it is drawn as two steps.
// The accounts of one step come from several processes and so not quite in
// order; a shorter time would tear apart what is one step.
const slow = 100 * time.Millisecond

// Reasons of a failure of which nobody was asked.
const (
	reasonHeld = "held"
	reasonLost = "lost"
)

// request is what is known of a request from both accounts.
type request struct {
	invoke    history.Event
	due       time.Duration // since when something is to come
	sent      bool          // it is drawn as being under way
	accounted bool          // the lock service or the storage told what it did
	answered  bool          // the client was told that it succeeded
}

// requests are those of which an account is still to come, oldest first.
type requests []*request

// find returns the open request that e belongs to, or nil: the one that it
// names or, where it names none, the client's own of the same operation.
func (rs requests) find(client string, e history.Event) *request {
	for _, r := range slices.Backward(rs) {
		if e.Op != "" && e.Op != r.invoke.Op && !partOf(e, r.invoke) {
			continue
		}
		if e.Request != "" && r.invoke.Request != "" {
			if e.Request == r.invoke.Request {
				return r
			}
		} else if r.invoke.Lane == client {
			return r
		}
	}
	return nil
}

// partOf reports whether e is one of the writes of a change of several keys.
func partOf(e, change history.Event) bool {
	return e.Op == history.OpWrite && slices.Contains(change.Changes, history.Change{Key: e.Key, Value: e.Value})
}

func (rs *requests) drop(r *request) {
	*rs = slices.DeleteFunc(*rs, func(o *request) bool { return o == r })
}

// take returns all and forgets them.
func (rs *requests) take() requests {
	all := *rs
	*rs = nil
	return all
}

// invoke opens a request. It is no row of its own: mostly the next event says
// what came of it.
func (b *Builder) invoke(e history.Event) {
	if e.Op == history.OpCount { // its steps are requests of their own
		b.add(e, Row{Class: ClassNote, Text: doing(e)})
		return
	}
	if r := b.requests.find(e.Lane, e); r != nil {
		b.unanswered(r)
		b.requests.drop(r)
	}
	b.requests = append(b.requests, &request{invoke: e, due: e.At})
}

// overdue draws the requests that e proves to be under way: time went by, or
// the client is hit by a fault. What e itself settles is one step still.
func (b *Builder) overdue(e history.Event) {
	for _, r := range slices.Clone(b.requests) {
		if b.settles(e, r) || !hits(e, r) && e.At-r.due < slow {
			continue
		}
		b.now = max(b.now, r.due)
		b.unanswered(r)
		if r.answered {
			b.requests.drop(r)
		}
	}
}

// hits reports whether e is a fault of the client that waits for r, or of the
// server that should answer.
func hits(e history.Event, r *request) bool {
	switch e.Kind {
	case history.KindPause, history.KindKill, history.KindNetwork:
		return !r.answered && (e.Lane == r.invoke.Lane || e.Lane == server(r.invoke.Op))
	}
	return false
}

// settles reports whether e is what r waits for.
func (b *Builder) settles(e history.Event, r *request) bool {
	switch e.Kind {
	case history.KindGranted, history.KindQueued:
		return e.Client == r.invoke.Lane && asksForLock(r.invoke.Op)
	case history.KindEnded:
		return e.Client == r.invoke.Lane && r.invoke.Op == history.OpUnlock
	case history.KindApplied, history.KindRefused:
		return b.requests.find(e.Client, e) == r
	case history.KindOK, history.KindFail:
		return b.requests.find(e.Lane, e) == r
	}
	return false
}

// unanswered draws what is known of a request without the account that should
// tell what came of it: that it left, or, later, what its client was told.
func (b *Builder) unanswered(r *request) {
	e := r.invoke
	switch {
	case r.accounted || r.sent && !r.answered:
	case r.answered:
		b.add(e, acknowledged(e))
	default:
		r.sent = true
		row := Row{Class: ClassSend, Lane: e.Lane, To: server(e.Op), Leg: Sent, Request: e.Request}
		if asksForLock(e.Op) {
			row.Leg, row.Text = Whole, append(doing(e), say("and waits")...)
		} else {
			row.Text = append(doing(e), say("(not answered yet)")...)
		}
		b.carry(&row, e)
		b.add(e, row)
	}
}

// acknowledged is the row of an answer where no account says the same.
func acknowledged(e history.Event) Row {
	return Row{Class: ClassReply, Lane: server(e.Op), To: e.Lane,
		Text: slices.Concat(say("%s is told that its", name(e.Lane)), noun(e), say("succeeded"))}
}

// answer takes what a client was told. It is a row where it tells more than the
// lock service's or the storage's account, or comes instead of it.
func (b *Builder) answer(e history.Event) {
	r := b.requests.find(e.Lane, e)
	asked := e
	if r != nil {
		asked = merge(e, r.invoke)
	}
	switch {
	case e.Kind == history.KindUnknown:
		if r != nil {
			b.unanswered(r)
		}
		b.add(e, Row{Class: ClassUnknown, Text: because(slices.Concat(say("%s does not know whether its", e.Lane), noun(asked), say("took effect")), e)})
	case e.Kind == history.KindFail && e.Reason == reasonLost:
		class := ClassLost
		if !b.tenures.held(e.Lane) {
			class = ClassNote
		}
		b.add(e, Row{Class: class, Text: refrains(asked, e.Text)})
	case e.Kind == history.KindFail && (asked.Op == history.OpCount || e.Reason == reasonHeld):
		b.add(e, Row{Class: ClassFail, Text: because(failed(e.Lane, asked), e)})
	case e.Kind == history.KindFail && (r == nil || !r.accounted):
		b.add(e, Row{Class: ClassFail, Lane: server(asked.Op), To: e.Lane, Text: because(failed(e.Lane, asked), e)})
	case e.Kind == history.KindOK:
		if late := b.succeeded(e, asked, r); late {
			return
		}
	}
	// A request that failed for certain cannot arrive any more, one of unknown
	// fate can.
	if r != nil && (e.Kind != history.KindUnknown || r.accounted) {
		b.requests.drop(r)
	}
}

// match joins an account of the storage with the request that it is about, and
// returns what is known of both.
func (b *Builder) match(e history.Event) (history.Event, *request) {
	r := b.requests.find(e.Client, e)
	if r == nil {
		return e, nil
	}
	b.account(r)
	return merge(e, r.invoke), r
}

// account notes that the lock service or the storage told what came of a request.
func (b *Builder) account(r *request) {
	if r == nil {
		return
	}
	r.accounted = true
	if r.answered {
		b.requests.drop(r)
	}
}

// succeeded takes the news of a success, and reports whether the row is to wait
// for the account of the lock service or the storage, which says more.
func (b *Builder) succeeded(e, asked history.Event, r *request) bool {
	b.tenures.acknowledge(asked.Request)
	switch shared := b.tenures.shared(asked); {
	case asked.Op == history.OpCount:
		b.add(e, Row{Class: ClassNote, Text: append(say("%s has counted in", name(e.Lane)), solid(asked.Key)...)})
	case asked.Op == history.OpRead:
		b.add(e, Row{Class: ClassReply, Lane: server(asked.Op), To: e.Lane, Text: append(say("%s gets:", e.Lane), value(asked.Key, e)...)})
	case asksForLock(asked.Op) && shared != nil:
		b.holds(e.Lane, shared)
		text := say("%s is told that it holds %s too, by %s's tenure:", e.Lane, lock(asked.Scope), name(shared.client))
		b.add(e, Row{Class: ClassGrant, Lane: history.LaneEtcd, To: e.Lane, Tenure: shared.n, Token: shared.token, Text: append(text, token(asked, "", "")...)})
	case r != nil && r.accounted && asksForLock(asked.Op):
		if g := b.tenures.of(asked); g != nil && e.Token != 0 && g.token != decimal(e) {
			b.add(e, Row{Class: ClassNote, Tenure: g.n, Text: shows(e, g.token)})
		}
	case r == nil:
		b.add(e, acknowledged(e))
	case !r.accounted:
		r.answered, r.due = true, e.At
		return true
	}
	return false
}

// merge fills in what e leaves out and the client's own account says.
func merge(e, invoke history.Event) history.Event {
	if e.Op == "" {
		e.Op = invoke.Op
	}
	if e.Client == "" {
		e.Client = invoke.Lane
	}
	if e.Tenure == "" {
		e.Tenure = invoke.Tenure
	}
	if e.Scope == "" {
		e.Scope = invoke.Scope
	}
	if e.Key == "" {
		e.Key = invoke.Key
	}
	if e.Token == 0 {
		e.Token = invoke.Token
	}
	if e.Value == "" {
		e.Value = invoke.Value
	}
	if e.Changes == nil {
		e.Changes = invoke.Changes
	}
	return e
}

func asksForLock(op string) bool { return op == history.OpLock || op == history.OpTryLock }

// server is the lane that does an operation.
func server(op string) string {
	if asksForLock(op) || op == history.OpUnlock {
		return history.LaneEtcd
	}
	return history.LaneStorage
}
