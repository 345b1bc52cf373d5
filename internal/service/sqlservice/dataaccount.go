package sqlservice

import (
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// DataAccount is a database's account of the data, in the order of the commits. It is that
// of the tenures of those who have read a row, too.
type DataAccount[C any] struct {
	name    string
	stage   service.Stage
	recipes []*Recipe[C]
	readers []*reader[C]
	index   int64     // of the last request
	last    time.Time // that was told
	asked   time.Time // when the database was asked last what is new
	before  time.Time // and the time before
}

// reader is a tenure that goes on as long as the row is as its client has read it, or made
// it.
type reader[C any] struct {
	lock, owner string
	recipe      *Recipe[C]
	seen        Seen
}

// NewDataAccount begins the account of a service in a run.
func NewDataAccount[C any](name string, stage service.Stage, recipes []*Recipe[C]) *DataAccount[C] {
	return &DataAccount[C]{name: name, stage: stage, recipes: recipes}
}

// Asking is called before the database is asked what is new.
func (a *DataAccount[C]) Asking() { a.before, a.asked = a.asked, time.Now() }

// DataTold is what a database tells: of a tenure's begin or end, of a request, or of a row.
type DataTold struct {
	At    time.Time `json:"at"` // by this machine's clock when an account takes it in
	Lock  string    `json:"lock"`
	Owner string    `json:"owner"` // the tenure, or that of the change
	By    string    `json:"by"`    // the recipe
	Seen

	Events []history.Event `json:"events"` // of the request, one for each key
	Value  *string         `json:"value"`  // what the key of the request has
}

// The kinds of what is told: that a client has read the row, which begins its tenure; that it
// lets go of that; what a request has found in a key, or made of it; that a request was
// refused; and what a request has made of the row.
const (
	ToldReads   = "reads"
	ToldEnds    = "ends"
	ToldDone    = "done"
	ToldRefused = "refused"
	ToldChanged = "changed"
)

// Take takes in what was told.
func (a *DataAccount[C]) Take(kind string, m DataTold) {
	at := a.time(m.At)
	switch kind {
	case ToldReads:
		a.begins(at, m)
	case ToldEnds:
		a.endAll(at, "", func(r *reader[C]) bool { return r.owner == m.Owner })
	case ToldDone:
		e := m.Events[0]
		e.Missing = m.Value == nil && e.Op != history.OpDelete
		if m.Value != nil {
			e.Value = *m.Value
		}
		a.request(at, history.KindApplied, e)
	case ToldRefused:
		for i := range m.Events {
			m.Events[i].Reason = string(fencehttp.ReasonStale)
			if m.Events[i].Token != 0 {
				m.Events[i].Mark = m.Version
			}
		}
		a.request(at, history.KindRefused, m.Events...)
	case ToldChanged:
		a.request(at, history.KindApplied, m.Events...)
		a.outrun(at, m)
	}
}

// time is when something was committed, of which at is the time of the statement: not before
// the database was asked for the last time without telling of it, nor before what was told
// before it, as commits have an order that their clocks may lack; and not in the future, by the
// clock of this machine.
func (a *DataAccount[C]) time(at time.Time) time.Time {
	if now := time.Now(); at.After(now) {
		at = now
	}
	for _, bound := range []time.Time{a.before, a.last} {
		if at.Before(bound) {
			at = bound
		}
	}
	a.last = at
	return at
}

func (a *DataAccount[C]) begins(at time.Time, m DataTold) {
	i := slices.IndexFunc(a.recipes, func(r *Recipe[C]) bool { return r.ID == m.By })
	r := &reader[C]{m.Lock, m.Owner, a.recipes[i], m.Seen}
	a.readers = append(a.readers, r)
	e := history.Event{Kind: history.KindGranted, Scope: r.lock, Tenure: r.owner, Mode: fence.Shared}
	if r.recipe.Shows != NoToken {
		e.Token = r.seen.Version
	}
	a.tellOf(at, e)
}

// endAll ends the tenures of which over is true.
func (a *DataAccount[C]) endAll(at time.Time, why string, over func(*reader[C]) bool) {
	a.readers = slices.DeleteFunc(a.readers, func(r *reader[C]) bool {
		if !over(r) {
			return false
		}
		a.tellOf(at, history.Event{Kind: history.KindEnded, Scope: r.lock, Tenure: r.owner, Cause: history.CauseRevoked, Text: why})
		return true
	})
}

// outrun ends the tenures of a row that is not any more as their clients have read it. The
// one that has changed it knows.
func (a *DataAccount[C]) outrun(at time.Time, now DataTold) {
	a.endAll(at, "the row is not as it was read", func(r *reader[C]) bool {
		switch {
		case r.lock != now.Lock:
			return false
		case r.owner == now.Owner:
			r.seen = now.Seen
			return false
		}
		return !r.recipe.Same(r.seen, now.Seen)
	})
}

// tellOf tells of a tenure.
func (a *DataAccount[C]) tellOf(at time.Time, e history.Event) {
	e.At, e.Lane = time.Duration(at.UnixNano()), a.name
	a.stage.Tell(e)
}

// request tells what became of a request: an event for each of its keys.
func (a *DataAccount[C]) request(at time.Time, kind history.Kind, events ...history.Event) {
	for _, e := range events {
		a.index++
		e.Kind, e.Index, e.At = kind, a.index, time.Duration(at.UnixNano())
		a.stage.Tell(e)
	}
}
