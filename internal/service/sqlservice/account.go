package sqlservice

import (
	"context"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Account is the lock service's own account of tenures: what rows say of who holds each lock, and which connections
// have one. It is that of the data, too, in the order of the commits. No client has a part in it.
type Account struct {
	// Behind is this machine's clock behind the database's.
	Behind time.Duration

	name    string
	stage   service.Stage
	recipes []*Recipe
	rows    map[string]Told // table and lock → the tenure that the row tells of
	held    []Told          // tenures of connections
	goesOn  func(context.Context, Told) (bool, error)
	readers []*Told // tenures that go on as long as the row is as the client has read it, or made it

	index  int64     // of the last request
	last   time.Time // that was told of the data
	asked  time.Time // when the database was asked last what is new
	before time.Time // and the time before
}

// Told is what a database tells of locks and of the data.
type Told struct {
	At    time.Time `json:"at"` // by the database's clock
	Lock  string    `json:"lock"`
	Owner string    `json:"owner"` // the tenure, or that of the change; "": nobody holds the lock

	// Of a row of a table: until when by the database's clock, in µs since 1970.
	Table string      `json:"table"`
	Until int64       `json:"until"`
	Token fence.Token `json:"token"`

	// Of what has a lock that is no row's: a transaction, or a session by the number of its process.
	Transaction string `json:"transaction"`
	Process     int    `json:"process"`

	// Of the data: the recipe, the row, and the request, with an event for each key.
	By string `json:"by"`
	Seen
	Events []history.Event   `json:"events"`
	Value  *string           `json:"value"` // what the key of the request has
	Data   map[string]string `json:"data"`  // what all keys have
}

// The kinds of what is told: that a connection has a lock; what a row of a lock says; that a client
// has read the row of the data, which begins its tenure; that it lets go of that; what a request has
// found in a key, or made of it; that a request was refused; and what a request has made of the row.
const (
	ToldTaken   = "taken"
	ToldRow     = "row"
	ToldReads   = "reads"
	ToldEnds    = "ends"
	ToldDone    = "done"
	ToldRefused = "refused"
	ToldChanged = "changed"
)

// NewAccount begins the account of a service in a run. goesOn asks whether a connection still
// has the lock that it has taken.
func NewAccount(name string, stage service.Stage, recipes []*Recipe, goesOn func(context.Context, Told) (bool, error)) *Account {
	return &Account{name: name, stage: stage, recipes: recipes, goesOn: goesOn, rows: make(map[string]Told)}
}

// Asking is called before the database is asked what is new.
func (a *Account) Asking() { a.before, a.asked = a.asked, time.Now() }

// Take takes in what was told. Who had a lock by a connection and has it no more is told of before the next grant.
func (a *Account) Take(ctx context.Context, kind string, t Told) error {
	t.At = t.At.Add(-a.Behind)
	switch kind {
	case ToldTaken:
		err := a.check(ctx, t.Lock)
		a.held = append(a.held, t)
		a.tell(t.At, t, history.Event{Kind: history.KindGranted})
		return err
	case ToldRow:
		a.row(t)
	default:
		a.data(kind, t)
	}
	return nil
}

// Settle is called when all was taken in that is new. It tells of what nobody has told: the
// connections, and the leases that were over when the database was asked. One that ran out since may have been renewed.
func (a *Account) Settle(ctx context.Context) error {
	for place, t := range a.rows {
		if a.isOver(t, a.asked) {
			a.ended(t, "")
			delete(a.rows, place)
		}
	}
	return a.check(ctx, "")
}

func (a *Account) row(now Told) {
	locks := a.stage.Plan().Locks
	if i := slices.IndexFunc(locks, func(lock string) bool { return KeyOf(lock) == now.Lock }); i >= 0 {
		now.Lock = locks[i] // it was the key in a table
	}
	place := now.Table + " " + now.Lock
	before, was := a.rows[place]
	switch {
	case was && before.Owner == now.Owner:
		a.rows[place] = now
		return
	case was:
		a.ended(before, "")
		delete(a.rows, place)
	}
	if now.Owner != "" {
		a.rows[place] = now
		a.tell(time.Now(), now, history.Event{Kind: history.KindGranted, Token: now.Token})
	}
}

func (a *Account) isOver(row Told, at time.Time) bool {
	return !at.Before(time.UnixMicro(row.Until).Add(-a.Behind))
}

// check asks of each tenure of a connection whether it goes on; "" is of any lock.
func (a *Account) check(ctx context.Context, lock string) (err error) {
	a.held = slices.DeleteFunc(a.held, func(t Told) bool {
		on := true
		if err == nil && (lock == "" || t.Lock == lock) {
			on, err = a.goesOn(ctx, t)
		}
		if on || err != nil {
			return false
		}
		a.tell(time.Now(), t, history.Event{Kind: history.KindEnded, Text: "with its connection"})
		return true
	})
	return err
}

// crashed takes in that no connection has outlived the server.
func (a *Account) crashed() {
	for _, t := range a.held {
		a.tell(time.Now(), t, history.Event{Kind: history.KindEnded, Cause: history.CauseRevoked})
	}
	a.held = nil
}

// Moved takes in that another server leads. No connection has come with it, and a tenure of which it has no row is
// over; why says that.
func (a *Account) Moved(ctx context.Context, leader Conn, why string) error {
	a.crashed()
	for place, t := range a.rows {
		var has bool
		if err := leader.Row(ctx, statement("has_row"), t.Owner, t.Owner).Scan(&has); err != nil {
			return err
		}
		if !has {
			a.ended(t, why)
			delete(a.rows, place)
		}
	}
	return nil
}

// ended tells of the end of a row's tenure. Of one whose lease is not over it is no expiry.
func (a *Account) ended(row Told, why string) {
	e := history.Event{Kind: history.KindEnded}
	if !a.isOver(row, time.Now()) {
		e.Cause, e.Text = history.CauseRevoked, why // unless its client let go of it
	}
	a.tell(time.Now(), row, e)
}

func (a *Account) tell(at time.Time, t Told, e history.Event) {
	e.At, e.Lane, e.Scope, e.Tenure = time.Duration(at.UnixNano()), a.name, t.Lock, t.Owner
	a.stage.Tell(e)
}

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

// time is when something was committed, of which at is the time of the statement: not before the database was asked
// for the last time without telling of it, nor before what was told before it, as commits have an order that their
// clocks may lack; and not in the future, by the clock of this machine.
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
