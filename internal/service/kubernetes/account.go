package kubernetes

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// keyOf is the key in etcd of a lock's Lease, and leaseOf its name. Kubernetes wants small letters in it, and no slash.
func keyOf(lock string) string { return "/registry/leases/default/" + leaseOf(lock) }

func leaseOf(lock string) string {
	return strings.ToLower(strings.ReplaceAll(strings.Trim(lock, "/"), "/", "."))
}

// account is the lock service's own account of tenures, by the changes of Leases in the order of their resourceVersions,
// which are etcd's revisions. A tenure begins when a Lease names its holder. It ends when the Lease names another one,
// or nobody, or is gone; or when the Lease has not changed for as long as it says, which is how those count who wait for it.
type account struct {
	told service.Account

	mu     sync.Mutex
	leases map[string]*lease // by key
}

// lease is one as it was after its last change.
type lease struct {
	lock, holder string
	tenure       string         // "": that of the holder is over, or there is none
	tenures      map[string]int // how many each holder has had
	spec         spec
	changed      time.Time
}

// spec is what the object in etcd says.
type spec struct {
	HolderIdentity       string
	LeaseDurationSeconds int64
	AcquireTime          time.Time
	RenewTime            time.Time
}

func (s spec) duration() time.Duration { return time.Duration(s.LeaseDurationSeconds) * time.Second }

func newAccount(told service.Account, locks []string) *account {
	a := &account{told: told, leases: make(map[string]*lease)}
	for _, lock := range locks {
		a.leases[keyOf(lock)] = &lease{lock: lock, tenures: make(map[string]int)}
	}
	return a
}

// put takes in a change of a Lease, of which this machine hears now.
func (a *account) put(key string, object []byte, version int64, now time.Time) error {
	var read struct{ Spec spec }
	if err := json.Unmarshal(object, &read); err != nil {
		return fmt.Errorf("the Lease %s: %w", key, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.leases[key]
	s := read.Spec
	if l.holder != s.HolderIdentity {
		cause, text := l.endedBy(s)
		a.end(l, now, cause, text)
		l.holder = s.HolderIdentity
	}
	l.spec, l.changed = s, now
	if l.holder == "" {
		return nil
	}
	if l.tenure == "" {
		l.tenure = l.holder
		l.tenures[l.holder]++
		if times := l.tenures[l.holder]; times > 1 {
			l.tenure += fmt.Sprint(againSign, times)
		}
		a.told.Tell(history.Event{At: since1970(now), Lane: Name, Kind: history.KindGranted, Scope: l.lock, Tenure: l.tenure, Token: fence.Token(version)})
	}
	a.await(l)
	return nil
}

// endedBy is why a tenure ends when its Lease is changed. A client that waits may have seen the last change a moment before
// this machine did: the Lease is then over for that client, and not yet for the account.
func (l *lease) endedBy(next spec) (cause, text string) {
	switch {
	case next.HolderIdentity == "":
		return history.CauseRevoked, "its Lease was emptied"
	case next.AcquireTime.Sub(l.spec.RenewTime) >= l.spec.duration():
		return "", ""
	}
	return history.CauseRevoked, "another name was written into its Lease"
}

// againSign is before the number of a tenure of a holder that had the lock before, under one name.
const againSign = "/"

// holderOf is the name by which the holder of a tenure calls all its tenures.
func holderOf(tenure string) string {
	holder, _, _ := strings.Cut(tenure, againSign)
	return holder
}

func since1970(at time.Time) time.Duration { return time.Duration(at.UnixNano()) }

// await has the tenure end when its Lease is over, unless it has changed by then.
func (a *account) await(l *lease) {
	changed := l.changed
	time.AfterFunc(l.spec.duration(), func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if l.changed.Equal(changed) {
			a.end(l, time.Now(), "", "")
		}
	})
}

// gone takes in that a Lease was deleted.
func (a *account) gone(key string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.leases[key]
	a.end(l, now, history.CauseRevoked, "its Lease was deleted")
	l.holder = ""
}

// lockOf is the lock that a tenure is of and goes on; "": there is none.
func (a *account) lockOf(tenure string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.leases {
		if l.tenure == tenure {
			return l.lock
		}
	}
	return ""
}

// end takes in the end of the tenure of a Lease, if there is one.
func (a *account) end(l *lease, now time.Time, cause, text string) {
	if l.tenure == "" {
		return
	}
	a.told.Tell(history.Event{At: since1970(now), Lane: Name, Kind: history.KindEnded, Scope: l.lock, Tenure: l.tenure, Cause: cause, Text: text})
	l.tenure = ""
}
