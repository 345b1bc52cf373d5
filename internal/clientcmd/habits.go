package clientcmd

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/storageflags"
)

// habits are how an agent goes about its work: the careful ways, and those that
// scenarios warn of.
type habits struct {
	sendStorage string        // URL by which "send" reaches the storage; "": as the others
	timeout     time.Duration // of one request
	lockDelay   time.Duration
	scope       choice
	session     choice
	look        choice
	reads       choice
	changeBy    choice
	numbered    bool
}

const (
	scopeLock = "lock"
	scopeKey  = "key" // each key has a mark of its own

	sessionOwn  = "own"  // each tenure has a key of its own
	sessionKept = "kept" // one session, and so one key, is for all tenures

	lookNothing = "nothing"
	lookSession = "session"  // at the session, which may not know yet
	lookIsOwner = "is-owner" // ask etcd by Mutex.IsOwner
	lookFirst   = "first"    // ask etcd for the first key of the queue

	readsFenced = "fenced"
	readsPlain  = "plain"

	changeBatch  = "batch"
	changeSingly = "singly"
)

func newHabits() habits {
	h := habits{
		scope:    oneOf(scopeLock, scopeKey),
		session:  oneOf(sessionOwn, sessionKept),
		look:     oneOf(lookNothing, lookSession, lookIsOwner, lookFirst),
		reads:    oneOf(readsFenced, readsPlain),
		changeBy: oneOf(changeBatch, changeSingly),
	}
	h.look.value = "" // begin has a default of its own
	return h
}

func (h *habits) add(f *pflag.FlagSet) {
	f.StringVar(&h.sendStorage, "send-storage", "", `URL by which "send" reaches the storage, if not that of --storage`)
	f.DurationVar(&h.timeout, "timeout", requestTimeout, "of one request to etcd or the storage, and of the wait for a lock; what it cuts off has an unknown outcome, unless it can be taken back")
	f.DurationVar(&h.lockDelay, "lock-delay", 0, "how long to wait after each grant before going on")
	f.Var(&h.scope, "scope", `what the storage compares tokens in: the "lock", or each "key" by itself`)
	f.Var(&h.session, "session", `"own": each tenure has a key of its own; "kept": one session, and so one key, is kept for all, and Mutex.Unlock releases a lock`)
	f.Var(&h.look, "look", `how to look whether the lock is held before a change: "nothing", at the "session", or by asking etcd, "is-owner" as Mutex.IsOwner does, or whether the own key is the "first" of the queue (default nothing; for begin, session)`)
	f.Var(&h.reads, "reads", `"fenced" ones show the token, "plain" ones do not`)
	f.Var(&h.changeBy, "change", `how to change several keys: in a "batch", all or nothing, or "singly"`)
	f.BoolVar(&h.numbered, "numbered", false, "give the writes of a tenure sequence numbers")
}

func (a *agent) check() error {
	send := a.sendFlags()
	switch err := send.Check(); {
	case err != nil && a.sendStorage != "":
		return fmt.Errorf("--send-storage: %w", err)
	case a.timeout <= 0:
		return fmt.Errorf("--timeout is %v, want more than 0", a.timeout)
	case a.lockDelay < 0:
		return fmt.Errorf("--lock-delay is %v, want 0 or more", a.lockDelay)
	}
	return nil
}

// sendFlags are those of --storage with the URL of --send-storage.
func (a *agent) sendFlags() storageflags.Flags {
	f := a.storage
	if a.sendStorage != "" {
		f.URL = a.sendStorage
	}
	return f
}
