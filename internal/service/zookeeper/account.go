package zookeeper

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures: who stands in the queue of each lock, by the
// nodes below the lock's own. No client has a part in it. Several members may tell it the same.
type account struct {
	stage service.Stage

	mu     sync.Mutex
	queues map[string]*queue // by lock
}

func newAccount(stage service.Stage) *account {
	a := &account{stage: stage, queues: make(map[string]*queue)}
	for _, lock := range stage.Plan().Locks {
		a.queues[lock] = newQueue(lock)
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

type queue struct {
	*service.Line
	over map[string]bool // nodes that were there
}

func newQueue(lock string) *queue { return &queue{service.NewLine(Name, lock), make(map[string]bool)} }

func (q *queue) enter(n watch.Node) []history.Event {
	if q.over[n.Name] {
		return nil
	}
	return q.Enter(service.Standing{Key: n.Name, Tenure: n.Name, Token: fence.Token(n.Czxid), Mode: modeOf(n.Name)})
}

func (q *queue) leave(name string) []history.Event {
	q.over[name] = true
	return q.Leave(name)
}

// compare takes in which nodes there were after a transaction. Who has come meanwhile comes
// first, so that nobody is granted the lock out of turn.
func (q *queue) compare(there []watch.Node, zxid int64) (told []history.Event) {
	for _, n := range there {
		told = append(told, q.enter(n)...)
	}
	for _, p := range q.InOrder() {
		if int64(p.Token) <= zxid && !slices.Contains(there, watch.Node{Name: p.Key, Czxid: int64(p.Token)}) {
			told = append(told, q.leave(p.Key)...)
		}
	}
	return told
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
