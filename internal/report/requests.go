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
		if e.Op != "" && e.Op != r.invoke.Op {
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
		fault := !r.answered && e.Lane == r.invoke.Lane && (e.Kind == history.KindPause || e.Kind == history.KindKill)
		if b.settles(e, r) || !fault && e.At-r.due < slow {
			continue
		}
		b.now = max(b.now, r.due)
		b.unanswered(r)
		if r.answered {
			b.requests.drop(r)
		}
	}
}

// settles reports whether e is what r waits for.
func (b *Builder) settles(e history.Event, r *request) bool {
	switch e.Kind {
	case history.KindGranted:
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
		b.add(e, succeeded(e))
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

// succeeded is the row of an answer where no account says the same.
func succeeded(e history.Event) Row {
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
	case e.Kind == history.KindFail && (r == nil || !r.accounted):
		b.add(e, Row{Class: ClassFail, Lane: server(asked.Op), To: e.Lane, Text: because(failed(e.Lane, asked), e)})
	case e.Kind == history.KindOK && asked.Op == history.OpRead:
		b.add(e, Row{Class: ClassReply, Lane: server(asked.Op), To: e.Lane, Text: append(say("%s gets:", e.Lane), value(asked.Key, e)...)})
	case e.Kind == history.KindOK && r == nil:
		b.add(e, succeeded(e))
	case e.Kind == history.KindOK && !r.accounted:
		r.answered, r.due = true, e.At
		return
	}
	// A request that failed for certain cannot arrive any more, one of unknown
	// fate can.
	if r != nil && (e.Kind != history.KindUnknown || r.accounted) {
		b.requests.drop(r)
	}
}

// account joins an account of the lock service or the storage with the request
// that it is about, and returns what is known of both.
func (b *Builder) account(client string, e history.Event) (history.Event, *request) {
	r := b.requests.find(client, e)
	if r == nil {
		return e, nil
	}
	r.accounted = true
	if r.answered {
		b.requests.drop(r)
	}
	return merge(e, r.invoke), r
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
