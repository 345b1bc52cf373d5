package elasticsearch

import (
	"maps"
	"slices"
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
	last map[string]document // lock → its document
	held map[string]tenures  // lock → those that its document tells of
}

type tenures map[string]*tenureOf

// tenureOf is one that a document tells of.
type tenureOf struct {
	lock, name string
	holding
	until time.Time // the end of its lease; zero: it has none
	over  bool      // the lease has ended, and nobody has taken the lock since
}

// holding is what a document says of a tenure.
type holding struct {
	mode     fence.Mode
	token    fence.Token
	ttl      time.Duration // of its lease; 0: it has none
	renewals int64         // of the lease
}

func newAccount(stage service.Stage) *account {
	return &account{stage: stage, last: make(map[string]document), held: make(map[string]tenures)}
}

// see takes in the document of a lock after a request. sent is when the request was sent: the
// lease begins then, so that it has ended when another client may take the lock. attempt is
// the client's name of the request, and of a tenure that the document has no name for.
func (a *account) see(lock string, d document, attempt string, sent time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.last[lock]
	if before.Found == d.Found && before.version == d.version {
		return // it was not changed
	}
	a.last[lock] = d
	held, now := a.held[lock], a.holdings(lock, before, d, attempt)
	a.held[lock] = make(tenures)
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if _, still := now[name]; !still {
			a.end(held[name], d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		t := held[name]
		switch h := now[name]; {
		case t == nil:
			t = &tenureOf{lock: lock, name: name, holding: h, until: h.leaseFrom(sent)}
			a.begin(t)
		case t.renewals != h.renewals && !t.over:
			t.until = h.leaseFrom(sent)
			fallthrough
		default:
			t.holding = h
		}
		a.held[lock][name] = t
	}
}

// holdings are those that the document of a lock tells of, by the names of their tenures. It was another one before.
func (a *account) holdings(lock string, before, now document, attempt string) map[string]holding {
	list := make(map[string]holding)
	switch s := now.Source; {
	case !now.Found:
	case s.Token > 0:
		for _, h := range s.Holders {
			list[h.Owner] = holding{mode: h.Mode, token: h.Token, ttl: time.Duration(h.TTL) * time.Millisecond, renewals: h.Renewals}
		}
	case s.LockType == typeShared: // it counts its holders. Who takes one off that it has not added takes off another's
		for name, t := range a.held[lock] {
			list[name] = t.holding
		}
		if name := tenureIn(lock, attempt); s.LockCount > before.Source.LockCount {
			list[name] = holding{mode: fence.Shared}
		} else {
			delete(list, name)
		}
	default:
		list[tenureIn(lock, attempt)] = holding{}
	}
	return list
}

// leaseFrom is when a lease ends that begins at a time; zero: there is none.
func (h holding) leaseFrom(began time.Time) time.Time {
	if h.ttl == 0 {
		return time.Time{}
	}
	return began.Add(h.ttl)
}

// begin tells of a tenure, and then of the end of its lease.
func (a *account) begin(t *tenureOf) {
	a.tell(history.Event{Kind: history.KindGranted, Scope: t.lock, Tenure: t.name, Token: t.token, Mode: t.mode})
	if !t.until.IsZero() {
		time.AfterFunc(time.Until(t.until), func() { a.expire(t) })
	}
}

// expire tells of the end of a tenure whose lease is over. Where it was renewed, expire looks again later.
func (a *account) expire(t *tenureOf) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held[t.lock][t.name] != t {
		return
	}
	if left := time.Until(t.until); left > 0 {
		time.AfterFunc(left, func() { a.expire(t) })
		return
	}
	a.end(t, a.last[t.lock])
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
