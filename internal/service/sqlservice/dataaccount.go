package sqlservice

import (
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// data takes in what was told of the data, and of those who have read it.
func (a *Account) data(kind string, t Told) {
	at := a.time(t.At)
	switch kind {
	case ToldReads:
		a.begins(at, &t)
	case ToldEnds:
		a.endAll(at, "", func(r *Told) bool { return r.Owner == t.Owner })
	case ToldDone:
		e := t.Events[0]
		e.Missing = t.Value == nil && e.Op != history.OpDelete
		if t.Value != nil {
			e.Value = *t.Value
		}
		a.request(at, history.KindApplied, e)
	case ToldRefused:
		for i := range t.Events {
			t.Events[i].Reason = string(fencehttp.ReasonStale)
			if t.Events[i].Token != 0 {
				t.Events[i].Mark = t.Version
			}
		}
		a.request(at, history.KindRefused, t.Events...)
	case ToldChanged:
		for i, e := range t.Events {
			value, has := t.Data[e.Key]
			t.Events[i].Value, t.Events[i].Missing = value, !has && e.Op != history.OpDelete
		}
		a.request(at, history.KindApplied, t.Events...)
		a.outrun(at, t)
	}
}

// time is when something was committed, of which at is the time of the statement: not before
// the database was asked for the last time without telling of it, nor before what was told
// before it, as commits have an order that their clocks may lack; and not in the future, by the
// clock of this machine.
func (a *Account) time(at time.Time) time.Time {
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

// recipe is the one by which a tenure was read.
func (a *Account) recipe(t *Told) *Recipe {
	return a.recipes[slices.IndexFunc(a.recipes, func(r *Recipe) bool { return r.ID == t.By })]
}

func (a *Account) begins(at time.Time, t *Told) {
	a.readers = append(a.readers, t)
	e := history.Event{Kind: history.KindGranted, Mode: fence.Shared}
	if a.recipe(t).Shows != NoToken {
		e.Token = t.Version
	}
	a.tell(at, *t, e)
}

// endAll ends the tenures of which over is true.
func (a *Account) endAll(at time.Time, why string, over func(*Told) bool) {
	a.readers = slices.DeleteFunc(a.readers, func(r *Told) bool {
		if !over(r) {
			return false
		}
		a.tell(at, *r, history.Event{Kind: history.KindEnded, Cause: history.CauseRevoked, Text: why})
		return true
	})
}

// outrun ends the tenures of a row that is not any more as their clients have read it. The
// one that has changed it knows.
func (a *Account) outrun(at time.Time, now Told) {
	a.endAll(at, "the row is not as it was read", func(r *Told) bool {
		switch {
		case r.Lock != now.Lock:
			return false
		case r.Owner == now.Owner:
			r.Seen = now.Seen
			return false
		}
		return !a.recipe(r).Same(r.Seen, now.Seen)
	})
}

// request tells what became of a request: an event for each of its keys.
func (a *Account) request(at time.Time, kind history.Kind, events ...history.Event) {
	for _, e := range events {
		a.index++
		e.Kind, e.Index, e.At = kind, a.index, time.Duration(at.UnixNano())
		a.stage.Tell(e)
	}
}
