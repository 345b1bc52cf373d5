package judge

import (
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/lockmodel"
	"github.com/fencelab/fencelab/pkg/fence"
)

const never = lockmodel.Never

// hold is a client's time with a lock, by the client's word.
type hold struct {
	lockmodel.Hold
	lock   string
	told   int    // event by which the client was told of it, or before that the first one of its work in the storage
	lease  int64  // until then the lease lasts at least
	let    int64  // from then on the client has it no more, as it was told or killed
	freed  int64  // when the client asked for its unlock
	shows  string // which number its client shows, by the run
	number bool   // its token tells its place in the order of the grants
}

// free is a client's unlock of a lock.
type free struct {
	lockmodel.Unlock
	lock string
}

// question is what a client has asked, and not been told yet.
type question struct{ client, op, lock string }

// words is what clients say of locks.
type words struct {
	clocks Clocks
	run    *history.Run
	holds  []*hold // in the order in which clients were told of them
	frees  []*free // in the order in which clients asked
	open   map[question]int64
	shared map[question]bool
	named  map[name]*hold
	under  map[string]name // request → under which tenure it was made
}

// name is a client's for a tenure.
type name struct{ client, tenure string }

// hear takes in what clients say of locks.
func hear(events []history.Event, c Clocks) *words {
	w := &words{
		clocks: c, run: events[0].Run, open: make(map[question]int64), shared: make(map[question]bool),
		named: make(map[name]*hold), under: make(map[string]name),
	}
	for i, at := range clock(events) {
		w.take(i, at, events[i])
	}
	for i, e := range events {
		// The storage's clock is another one than the client's.
		if h := w.tenure(e); h != nil && e.Lane == history.LaneStorage {
			h.told = min(h.told, i)
		}
	}
	for _, h := range w.holds {
		h.Over = min(h.lease, h.let)
	}
	return w
}

func (w *words) take(i int, at int64, e history.Event) {
	if e.Kind == history.KindInvoke && e.Request != "" {
		w.under[e.Request] = name{e.Lane, e.Tenure}
	}
	asked := question{e.Lane, e.Op, e.Scope}
	from, open := w.open[asked]
	switch {
	case e.Kind == history.KindLost, e.Kind == history.KindKill, e.Kind == history.KindRestart:
		for _, h := range w.of(e) {
			h.let = min(h.let, at)
		}
	case e.Kind == history.KindInvoke && history.AsksForLock(e.Op):
		if !open { // else an attempt of unknown outcome may have got the lock
			w.open[asked], w.shared[asked] = at, e.Mode == fence.Shared
		}
	case e.Kind == history.KindInvoke && e.Op == history.OpUnlock:
		e.Tenure = "" // an unlock of an old tenure can end the client's new one
		for _, h := range w.of(e) {
			h.freed = min(h.freed, at)
		}
		w.frees = append(w.frees, &free{lockmodel.Unlock{Client: e.Lane, Asked: at, Told: never}, e.Scope})
	case e.Op == history.OpUnlock && e.Kind != history.KindUnknown:
		w.answered(e, at)
	case e.Kind == history.KindInvoke && e.Op == history.OpRenew:
		w.open[asked] = at
	case e.Kind == history.KindUnknown: // what was asked may be done yet
	case e.Kind == history.KindOK && history.AsksForLock(e.Op):
		if e.Tenure != "" && len(w.of(e)) == 0 {
			if !open {
				from = at
			}
			h := w.hold(i, from, at, e, w.shared[asked])
			w.holds, w.named[name{e.Lane, e.Tenure}] = append(w.holds, h), h
		}
		delete(w.open, asked)
	case e.Kind == history.KindOK && e.Op == history.OpRenew && open:
		for _, h := range w.of(e) {
			h.lease = max(h.lease, w.after(from))
		}
	case e.Kind == history.KindFail && history.AsksForLock(e.Op):
		delete(w.open, asked)
	}
}

// answered takes in what became of an unlock.
func (w *words) answered(e history.Event, at int64) {
	for _, f := range slices.Backward(w.frees) {
		if f.Client == e.Lane && f.lock == e.Scope {
			f.Told, f.Failed = at, e.Kind == history.KindFail
			return
		}
	}
}

func (w *words) hold(i int, asked, told int64, e history.Event, shared bool) *hold {
	return &hold{
		Hold: lockmodel.Hold{Client: e.Lane, Name: e.Tenure, Shared: shared || e.Mode == fence.Shared, Token: int64(e.Token), Asked: asked, Told: told},
		lock: e.Scope, told: i, lease: w.after(asked), let: never, freed: never,
		shows: w.run.Tokens[e.Lane], number: e.Token != 0 && w.run.Tokens[e.Lane] == history.ShowsGrant,
	}
}

// over is from when on the hold can have ended.
func (h *hold) over() int64 { return min(h.Over, h.freed) }

// after is until when a lease lasts at least for which its client asked then; for ever if that is not known.
func (w *words) after(asked int64) int64 {
	if w.clocks.TTL == 0 {
		return never
	}
	return asked + int64(w.clocks.TTL)
}

// of are the holds that a client speaks of: of this tenure, of this lock, or all.
func (w *words) of(e history.Event) (list []*hold) {
	for _, h := range w.holds {
		if h.Client == e.Lane && (e.Tenure == "" || e.Tenure == h.Name) && (e.Scope == "" || e.Scope == h.lock) {
			list = append(list, h)
		}
	}
	return list
}

// locks are the names of the locks that clients were told of.
func (w *words) locks() (names []string) {
	for _, h := range w.holds {
		names = append(names, h.lock)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// model is what package lockmodel is to judge of a lock.
func (w *words) model(lock string) (of lockmodel.Lock) {
	for _, h := range w.holds {
		if h.lock == lock {
			of.Holds = append(of.Holds, h.Hold)
		}
	}
	for _, f := range w.frees {
		if f.lock == lock || f.lock == "" {
			of.Unlocks = append(of.Unlocks, f.Unlock)
		}
	}
	return of
}
