package redis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures: what its nodes say of who holds each lock,
// most of them or, of a lock that is all of its nodes' locks, every one. No client has a part in it.
type account struct {
	stage service.Stage
	locks []string
	needs int // so many nodes make a holder

	mu      sync.Mutex
	nodes   []database
	tenures map[string]map[string]*tenureOf // lock → owner → tenure
	begun   map[string]int                  // lock and owner → how many tenures it had
	left    database                        // what keys had that left a node; nil: no slot moves

	why atomic.Value // a string: why tenures are revoked now; not of mu, which is held while the run is told
}

type tenureOf struct {
	name string
	holding
}

func newAccount(stage service.Stage, nodes, needs int) *account {
	a := &account{
		stage: stage, locks: stage.Plan().Locks, needs: needs,
		tenures: make(map[string]map[string]*tenureOf), begun: make(map[string]int),
	}
	for range nodes {
		a.nodes = append(a.nodes, make(database))
	}
	for _, lock := range a.locks {
		a.tenures[lock] = make(map[string]*tenureOf)
	}
	return a
}

// change makes of what a node holds something else, and tells what comes of it.
func (a *account) change(node int, to func(database) database) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.nodes[node]
	a.nodes[node] = to(before.clone())
	if a.left != nil {
		return
	}
	for _, lock := range a.locks {
		a.compare(lock, counted(lock, before, a.nodes[node]))
	}
}

// outlast has a dead node's keys expire, until its account begins anew or ctx is done. Until
// their time is over they count: while the node is dead it gives the lock to nobody else,
// and what it has kept it has again when it is started. What it has lost is over then.
func (a *account) outlast(ctx context.Context, node int) {
	for {
		next := a.expires(node)
		if next.IsZero() || !sleep.For(ctx, time.Until(next)) {
			return
		}
		a.change(node, func(d database) database {
			maps.DeleteFunc(d, func(_ string, v *value) bool { return !v.until.IsZero() && !time.Now().Before(v.until) })
			return d
		})
	}
}

// expires is when the next key of a node does; zero: none does.
func (a *account) expires(node int) (next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, v := range a.nodes[node] {
		if next.IsZero() || !v.until.IsZero() && v.until.Before(next) {
			next = v.until
		}
	}
	return next
}

// because says why tenures are revoked, until the function that it returns is called.
func (a *account) because(why string) (over func()) {
	a.why.Store(why)
	return func() { a.why.Store("") }
}

// compare tells whose tenures of a lock have ended and begun. token is the one that was counted with them.
func (a *account) compare(lock string, token fence.Token) {
	held := a.holders(lock)
	going := a.tenures[lock]
	for _, owner := range slices.Sorted(maps.Keys(going)) {
		if _, still := held[owner]; !still {
			a.tell(history.KindEnded, lock, going[owner], 0)
			delete(going, owner)
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(held)) {
		if t := going[owner]; t != nil {
			t.holding = held[owner]
			continue
		}
		going[owner] = &tenureOf{a.name(lock, owner), held[owner]}
		a.tell(history.KindGranted, lock, going[owner], token)
	}
}

// holders are those whom as many nodes know as it needs. A lease lasts as long as so many of them have it.
func (a *account) holders(lock string) map[string]holding {
	held, ends := make(map[string]holding), make(map[string][]time.Time)
	for _, node := range a.nodes {
		for owner, h := range node.holders(lock) {
			held[owner] = h
			ends[owner] = append(ends[owner], h.until)
		}
	}
	for owner, h := range held {
		if len(ends[owner]) < a.needs {
			delete(held, owner)
			continue
		}
		slices.SortFunc(ends[owner], latestFirst)
		h.until = ends[owner][a.needs-1]
		held[owner] = h
	}
	return held
}

// latestFirst sorts the ends of leases. One that never ends comes first.
func latestFirst(one, other time.Time) int {
	if one.IsZero() || other.IsZero() {
		return one.Compare(other)
	}
	return other.Compare(one)
}

// again separates an owner from the number of its tenure, from the second on.
const again = "~"

// name is that of a tenure: its owner's, which clients choose anew for each tenure. One
// that takes what was over once more has a number as well.
func (a *account) name(lock, owner string) string {
	a.begun[lock+" "+owner]++
	if n := a.begun[lock+" "+owner]; n > 1 {
		return fmt.Sprint(owner, again, n)
	}
	return owner
}

func ownerOf(tenure string) string {
	owner, _, _ := strings.Cut(tenure, again)
	return owner
}

func (a *account) tell(kind history.Kind, lock string, t *tenureOf, token fence.Token) {
	e := history.Event{At: time.Duration(time.Now().UnixNano()), Lane: Name, Kind: kind, Scope: lock, Tenure: t.name}
	if kind == history.KindGranted {
		e.Token, e.Mode = token, t.mode
	} else if t.until.IsZero() || time.Now().Before(t.until) {
		e.Cause = history.CauseRevoked // unless its client let go of it
		e.Text, _ = a.why.Load().(string)
	}
	a.stage.Tell(e)
}
