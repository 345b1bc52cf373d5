// Package leaseaccount is the account of tenures of lock services whose locks are records with a holder and a lease: what a record
// says after each of its changes begins a tenure, or ends one. Nothing in such a service ends a lease.
package leaseaccount

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Account is a lock service's own account of tenures. A tenure begins when its name is written to the record of the lock. It
// ends when something else is written, when the record is deleted, and when the lease is over: no client has a part in that,
// and it is told when it is due.
type Account struct {
	told service.Account
	lane string

	mu    sync.Mutex
	held  map[string]*tenure // lock → the last one that its record named
	begun map[string]int     // the name in a record → its tenures
}

// tenure is one that a record names.
type tenure struct {
	lock, owner, name string
	until             time.Time // the end of its lease; zero: it has none
	over              bool
}

// New makes an account that tells told in a lane, the service's name.
func New(told service.Account, lane string) *Account {
	return &Account{told: told, lane: lane, held: make(map[string]*tenure), begun: make(map[string]int)}
}

// Says is what the record of a lock says.
type Says struct {
	Owner string // "": the lock is free, or there is no record
	Token fence.Token
	Until time.Time // the end of the lease; zero: it has none
}

// See takes in what a record says. why is what has ended the tenure that it named before, if it names another one.
func (a *Account) See(lock string, at time.Time, says Says, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.held[lock]
	if t != nil && !t.over && t.owner == says.Owner {
		t.until = says.Until
		return
	}
	a.end(t, at, history.CauseRevoked, why)
	if says.Owner == "" {
		return
	}
	a.begun[says.Owner]++
	t = &tenure{lock: lock, owner: says.Owner, name: says.Owner, until: says.Until}
	if n := a.begun[says.Owner]; n > 1 { // its own renewal has taken the lock again, with the token of before
		t.name, says.Token = fmt.Sprint(says.Owner, again, n), 0
	}
	a.held[lock] = t
	a.tell(at, history.Event{Kind: history.KindGranted, Scope: lock, Tenure: t.name, Token: says.Token})
	if !t.until.IsZero() {
		time.AfterFunc(time.Until(t.until), func() { a.expire(t) })
	}
}

// again separates an owner from the number of its tenure, from the second on.
const again = "~"

// OwnerOf is the name in the record of a tenure.
func OwnerOf(tenure string) string {
	owner, _, _ := strings.Cut(tenure, again)
	return owner
}

// expire tells of the end of a tenure whose lease is over. Where it was renewed, expire looks again later.
func (a *Account) expire(t *tenure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if left := time.Until(t.until); left > 0 && !t.over {
		time.AfterFunc(left, func() { a.expire(t) })
		return
	}
	a.end(t, t.until, "", "")
}

// end tells of the end of a tenure, once.
func (a *Account) end(t *tenure, at time.Time, cause, text string) {
	if t == nil || t.over {
		return
	}
	t.over = true
	if cause == history.CauseRevoked && !t.until.IsZero() && !at.Before(t.until) {
		at, cause, text = t.until, "", "" // the lease was over before, and nobody had told so yet
	}
	a.tell(at, history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.name, Cause: cause, Text: text})
}

func (a *Account) tell(at time.Time, e history.Event) {
	e.At, e.Lane = time.Duration(at.UnixNano()), a.lane
	a.told.Tell(e)
}
