package sqlservice

import (
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Account is the lock service's own account of tenures: what rows say of who holds each
// lock, and which connections have one. No client has a part in it.
type Account struct {
	name  string
	stage service.Stage
	rows  map[string]*tenureOf // table and lock → the tenure that the row tells of
	held  []*tenureOf          // by connections
}

// tenureOf is one that goes on.
type tenureOf struct {
	lock, owner string
	until       time.Time // the end of its lease; zero: a connection has it
	holder      Holder
}

// Row is what a row of a lock says; the owner is "" where nobody holds the lock.
type Row struct {
	Lock, Owner string
	Until       time.Time // the end of the lease, by this machine's clock
	Token       fence.Token
}

// Holder is what has a lock that is no row's: a transaction by its number, or a session by
// the number of its process.
type Holder struct {
	Lock        string    `json:"lock"`
	Owner       string    `json:"owner"`
	At          time.Time `json:"at"` // when it was taken, by the database's clock
	Transaction string    `json:"transaction"`
	Process     int       `json:"process"`
}

// NewAccount begins the account of a service in a run.
func NewAccount(name string, stage service.Stage) *Account {
	return &Account{name: name, stage: stage, rows: make(map[string]*tenureOf)}
}

// Row takes in what a row of a table says.
func (a *Account) Row(table string, now Row) {
	place := table + " " + now.Lock
	before := a.rows[place]
	if before != nil && before.owner == now.Owner {
		before.until = now.Until
		return
	}
	if before != nil {
		a.ended(before)
		delete(a.rows, place)
	}
	if now.Owner != "" {
		a.rows[place] = &tenureOf{lock: now.Lock, owner: now.Owner, until: now.Until}
		a.tell(history.Event{Kind: history.KindGranted, Scope: now.Lock, Tenure: now.Owner, Token: now.Token})
	}
}

// Expire tells of the leases that are over.
func (a *Account) Expire() {
	for place, t := range a.rows {
		if !time.Now().Before(t.until) {
			a.ended(t)
			delete(a.rows, place)
		}
	}
}

// withConnection is how a tenure ends that has no lease.
const withConnection = "with its connection"

// Taken takes in that a connection has a lock since a time of this machine's clock.
func (a *Account) Taken(h Holder, at time.Time) {
	t := &tenureOf{lock: h.Lock, owner: h.Owner, holder: h}
	a.held = append(a.held, t)
	a.tellOf(at, history.Event{Kind: history.KindGranted, Scope: t.lock, Tenure: t.owner})
}

// Check asks of each tenure of a connection whether it goes on; "" is of any lock.
func (a *Account) Check(lock string, goesOn func(Holder) (bool, error)) error {
	var still []*tenureOf
	for i, t := range a.held {
		if lock != "" && t.lock != lock {
			still = append(still, t)
			continue
		}
		on, err := goesOn(t.holder)
		if err != nil {
			a.held = append(still, a.held[i:]...)
			return err
		}
		if on {
			still = append(still, t)
		} else {
			a.tell(history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.owner, Text: withConnection})
		}
	}
	a.held = still
	return nil
}

// Crashed takes in that no connection has outlived the server.
func (a *Account) Crashed() {
	for _, t := range a.held {
		a.tell(history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.owner, Cause: history.CauseRevoked})
	}
	a.held = nil
}

// ended tells of the end of a tenure. Of one whose lease is not over it is no expiry.
func (a *Account) ended(t *tenureOf) {
	e := history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.owner}
	if time.Now().Before(t.until) {
		e.Cause = history.CauseRevoked // unless its client let go of it
	}
	a.tell(e)
}

func (a *Account) tell(e history.Event) { a.tellOf(time.Now(), e) }

// tellOf tells of what happened at a time.
func (a *Account) tellOf(at time.Time, e history.Event) {
	e.At, e.Lane = time.Duration(at.UnixNano()), a.name
	a.stage.Tell(e)
}
