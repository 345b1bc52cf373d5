package postgres

import (
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures: what rows say of who holds each
// lock, and which connections have one. No client has a part in it.
type account struct {
	stage service.Stage
	rows  map[string]*tenureOf // table and lock → the tenure that the row tells of
	held  []*tenureOf          // by connections
}

// tenureOf is one that goes on.
type tenureOf struct {
	lock, owner string
	until       time.Time // the end of its lease, by the database's clock; zero: a connection has it
	holder      holder
}

// holder is what has a lock that is no row's: a transaction by its number, or a session by
// the number of its process.
type holder struct {
	Lock        string    `json:"lock"`
	Owner       string    `json:"owner"`
	At          time.Time `json:"at"` // when it was taken, by the database's clock
	Transaction string    `json:"transaction"`
	Process     int       `json:"process"`
}

func newAccount(stage service.Stage) *account {
	return &account{stage: stage, rows: make(map[string]*tenureOf)}
}

// row takes in what a row of a lock says; the owner is "" where it says that nobody holds
// the lock.
func (a *account) row(table string, now tenureOf, token fence.Token) {
	place := table + " " + now.lock
	before := a.rows[place]
	if before != nil && before.owner == now.owner {
		before.until = now.until
		return
	}
	if before != nil {
		a.ended(before)
		delete(a.rows, place)
	}
	if now.owner != "" {
		a.rows[place] = &now
		a.tell(history.Event{Kind: history.KindGranted, Scope: now.lock, Tenure: now.owner, Token: token})
	}
}

// expire tells of the leases that are over.
func (a *account) expire() {
	for place, t := range a.rows {
		if !time.Now().Before(t.until) {
			a.ended(t)
			delete(a.rows, place)
		}
	}
}

// taken takes in that a connection has a lock since a time of this machine's clock.
func (a *account) taken(h holder, at time.Time) {
	t := &tenureOf{lock: h.Lock, owner: h.Owner, holder: h}
	a.held = append(a.held, t)
	a.tellOf(at, history.Event{Kind: history.KindGranted, Scope: t.lock, Tenure: t.owner})
}

// check asks of each tenure of a connection whether it goes on; "" is of any lock.
func (a *account) check(lock string, goesOn func(holder) (bool, error)) error {
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
			a.ended(t)
		}
	}
	a.held = still
	return nil
}

// crashed takes in that no connection has outlived the server.
func (a *account) crashed() {
	for _, t := range a.held {
		a.tell(history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.owner, Cause: history.CauseRevoked})
	}
	a.held = nil
}

// ended tells of the end of a tenure. Of one whose lease is not over it is no expiry.
func (a *account) ended(t *tenureOf) {
	e := history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.owner}
	if time.Now().Before(t.until) {
		e.Cause = history.CauseRevoked // unless its client let go of it
	}
	a.tell(e)
}

func (a *account) tell(e history.Event) { a.tellOf(time.Now(), e) }

// tellOf tells of what happened at a time.
func (a *account) tellOf(at time.Time, e history.Event) {
	e.At, e.Lane = time.Duration(at.UnixNano()), Name
	a.stage.Tell(e)
}
