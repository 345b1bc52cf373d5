package elasticsearch

import (
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures: what the document of each lock says
// after each change. No client has a part in it.
type account struct {
	stage service.Stage

	mu   sync.Mutex
	held map[string]*tenureOf // lock → the tenure that its document tells of
}

// tenureOf is one that a document tells of.
type tenureOf struct {
	lock, name string
	at         document  // that says so
	until      time.Time // the end of its lease; zero: it has none
	over       bool      // the lease has ended, and nobody has taken the lock since
}

func newAccount(stage service.Stage) *account {
	return &account{stage: stage, held: make(map[string]*tenureOf)}
}

// see takes in the document of a lock after a request. sent is when the request was sent: the
// lease begins then, so that it has ended when another client may take the lock. attempt is
// the client's name of the request, and of a tenure that the document has no name for.
func (a *account) see(lock string, d document, attempt string, sent time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.held[lock]
	if before != nil && before.at.Seq == d.Seq && before.at.Term == d.Term && d.Found {
		return // it was not changed
	}
	name := holder(d, attempt)
	if before != nil && before.name == name {
		before.at = d
		if !before.over {
			before.until = leaseOf(d, sent)
		}
		return
	}
	if before != nil {
		delete(a.held, lock)
		a.end(before, d)
	}
	if name != "" {
		a.begin(&tenureOf{lock: lock, name: name, at: d, until: leaseOf(d, sent)})
	}
}

// holder is the name of the tenure that a document tells of; "": nobody holds the lock.
func holder(d document, attempt string) string {
	switch s := d.Source; {
	case !d.Found:
		return ""
	case s.ProcessID != "":
		return s.ProcessID
	case s.Token > 0:
		return s.Owner
	}
	return attempt
}

// leaseOf is when the lease of a document ends; zero: it has none.
func leaseOf(d document, sent time.Time) time.Time {
	if d.Source.TTL == 0 {
		return time.Time{}
	}
	return sent.Add(time.Duration(d.Source.TTL) * time.Millisecond)
}

// begin tells of a tenure, and then of the end of its lease.
func (a *account) begin(t *tenureOf) {
	a.held[t.lock] = t
	a.tell(history.Event{Kind: history.KindGranted, Scope: t.lock, Tenure: t.name, Token: fence.Token(t.at.Source.Token)})
	if !t.until.IsZero() {
		time.AfterFunc(time.Until(t.until), func() { a.expire(t) })
	}
}

// expire tells of the end of a tenure whose lease is over. Where it was renewed, expire looks
// again later.
func (a *account) expire(t *tenureOf) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held[t.lock] != t {
		return
	}
	if left := time.Until(t.until); left > 0 {
		time.AfterFunc(left, func() { a.expire(t) })
		return
	}
	a.end(t, t.at)
}

// end tells of the end of a tenure, once. now is the document by then.
func (a *account) end(t *tenureOf, now document) {
	if t.over {
		return
	}
	t.over = true
	e := history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.name}
	if t.until.IsZero() || time.Now().Before(t.until) {
		e.Cause = history.CauseRevoked // unless its client let go of it
		e.Text = "its document was changed"
	}
	if !now.Found {
		e.Text = "its document was deleted"
	}
	a.tell(e)
}

func (a *account) tell(e history.Event) {
	e.At, e.Lane = time.Duration(time.Now().UnixNano()), Name
	a.stage.Tell(e)
}
