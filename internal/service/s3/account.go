package s3

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures, by what the server tells of the objects. A tenure begins when its
// name is written to the object of the lock. It ends when something else is written, when the object is deleted, and when
// the lease is over: no client has a part in that, and it is told when it is due.
type account struct {
	told  service.Account
	locks []string

	mu    sync.Mutex
	held  map[string]*tenure // lock → the last one that its object named
	begun map[string]int     // the name in an object → its tenures
}

// tenure is one that an object names.
type tenure struct {
	lock, owner, name string
	until             time.Time // the end of its lease; zero: it has none
	over              bool
}

func newAccount(stage service.Stage) *account {
	return &account{told: stage, locks: stage.Plan().Locks, held: make(map[string]*tenure), begun: make(map[string]int)}
}

// content is what the object of a lock says.
type content struct {
	Owner string      `json:"owner"` // "": the lock is free
	Token fence.Token `json:"token"`
	Until time.Time   `json:"until"` // the end of the lease
	Lease int64       `json:"lease"` // or how long it lasts, in milliseconds
}

// line takes in a change of an object.
func (a *account) line(text []byte) error {
	var change struct {
		At   int64  `json:"at"` // in nanoseconds since 1970
		Key  string `json:"key"`
		Body string `json:"body"` // "": it was deleted
	}
	if err := json.Unmarshal(text, &change); err != nil || change.At == 0 {
		return errors.Join(errors.New("want a change of an object, with its time"), err)
	}
	i := slices.IndexFunc(a.locks, func(lock string) bool { return strings.TrimPrefix(lock, "/") == change.Key })
	if i < 0 {
		return fmt.Errorf("%q is the object of none of the run's locks", change.Key)
	}
	at := time.Unix(0, change.At)
	if change.Body == "" {
		a.see(a.locks[i], at, content{}, "its object was deleted")
		return nil
	}
	var says content
	if err := json.Unmarshal([]byte(change.Body), &says); err != nil {
		return fmt.Errorf("the object of %s says %q: %w", a.locks[i], change.Body, err)
	}
	if says.Lease > 0 {
		says.Until = at.Add(time.Duration(says.Lease) * time.Millisecond)
	}
	a.see(a.locks[i], at, says, "its object was overwritten")
	return nil
}

// see takes in what an object says. why is what has ended the tenure that it named before, if it names another one.
func (a *account) see(lock string, at time.Time, says content, why string) {
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

func ownerOf(tenure string) string {
	owner, _, _ := strings.Cut(tenure, again)
	return owner
}

// expire tells of the end of a tenure whose lease is over. Where it was renewed, expire looks again later.
func (a *account) expire(t *tenure) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if left := time.Until(t.until); left > 0 && !t.over {
		time.AfterFunc(left, func() { a.expire(t) })
		return
	}
	a.end(t, t.until, "", "")
}

// end tells of the end of a tenure, once.
func (a *account) end(t *tenure, at time.Time, cause, text string) {
	if t == nil || t.over {
		return
	}
	t.over = true
	if cause == history.CauseRevoked && !t.until.IsZero() && !at.Before(t.until) {
		at, cause, text = t.until, "", "" // the lease was over before, and nobody had told so yet
	}
	a.tell(at, history.Event{Kind: history.KindEnded, Scope: t.lock, Tenure: t.name, Cause: cause, Text: text})
}

func (a *account) tell(at time.Time, e history.Event) {
	e.At, e.Lane = time.Duration(at.UnixNano()), Name
	a.told.Tell(e)
}
