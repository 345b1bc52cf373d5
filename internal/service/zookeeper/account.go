package zookeeper

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures: who stands in the queue of each
// lock, by the nodes below the lock's own. No client has a part in it. Several members may
// tell it the same.
type account struct {
	stage service.Stage

	mu     sync.Mutex
	queues map[string]*queue // by lock
}

func newAccount(stage service.Stage) *account {
	a := &account{stage: stage, queues: make(map[string]*queue)}
	for _, lock := range stage.Plan().Locks {
		a.queues[lock] = &queue{lock: lock, places: make(map[string]*place), over: make(map[string]bool)}
	}
	return a
}

// see takes in an event. What it has from another member already is nothing new.
func (a *account) see(e watch.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.queues[path.Dir(e.Path)]
	switch name := path.Base(e.Path); {
	case q == nil: // of a lock itself
	case e.Deleted:
		a.stage.Tell(q.leave(name)...)
	default:
		a.stage.Tell(q.enter(watch.Node{Name: name, Czxid: e.Zxid})...)
	}
}

// compare takes in which nodes there were in a queue after a transaction.
func (a *account) compare(lock string, there []watch.Node, zxid int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stage.Tell(a.queues[lock].compare(there, zxid)...)
}

// queue is that of one lock: who holds it, and who waits.
type queue struct {
	lock   string
	places map[string]*place // by the node's name
	over   map[string]bool   // nodes that were there
}

// place is one in the queue. When it is granted the lock it is a tenure.
type place struct {
	watch.Node
	granted bool
}

// inOrder are the places in the order in which they were taken.
func (q *queue) inOrder() []*place {
	return slices.SortedFunc(maps.Values(q.places), func(a, b *place) int { return cmp.Compare(a.Czxid, b.Czxid) })
}

func (q *queue) enter(n watch.Node) (told []history.Event) {
	if q.places[n.Name] != nil || q.over[n.Name] {
		return nil
	}
	p := &place{Node: n}
	q.places[n.Name] = p
	if told = q.grant(); !p.granted {
		told = append(told, q.event(history.KindQueued, p))
	}
	return told
}

func (q *queue) leave(name string) (told []history.Event) {
	p := q.places[name]
	q.over[name] = true
	if p == nil {
		return nil
	}
	delete(q.places, name)
	return append([]history.Event{q.event(history.KindEnded, p)}, q.grant()...)
}

// compare takes in which nodes there were after a transaction. Who has come meanwhile comes
// first, so that nobody is granted the lock out of turn.
func (q *queue) compare(there []watch.Node, zxid int64) (told []history.Event) {
	for _, n := range there {
		told = append(told, q.enter(n)...)
	}
	for _, p := range q.inOrder() {
		if p.Czxid <= zxid && !slices.Contains(there, p.Node) {
			told = append(told, q.leave(p.Name)...)
		}
	}
	return told
}

// grant grants the lock to those whose turn it is, and tells of it: to the first, and to
// readers that have only readers before them.
func (q *queue) grant() (told []history.Event) {
	for i, p := range q.inOrder() {
		shared := modeOf(p.Name) == fence.Shared
		if i > 0 && !shared {
			break
		}
		if !p.granted {
			p.granted = true
			told = append(told, q.event(history.KindGranted, p))
		}
		if !shared {
			break
		}
	}
	return told
}

func (q *queue) event(kind history.Kind, p *place) history.Event {
	e := history.Event{
		At: time.Duration(time.Now().UnixNano()), Lane: Name, Kind: kind, Scope: q.lock, Tenure: p.Name,
	}
	if kind != history.KindEnded {
		e.Token, e.Mode = fence.Token(p.Czxid), modeOf(p.Name)
	}
	return e
}

// What the names of lock nodes have before the number, as in Curator.
const (
	beforeMutex  = "lock-"
	beforeReader = "__READ__"
	beforeWriter = "__WRIT__"
)

// modeOf is how the client of a node takes the lock.
func modeOf(name string) fence.Mode {
	if strings.Contains(name, beforeReader) {
		return fence.Shared
	}
	return fence.Exclusive
}
