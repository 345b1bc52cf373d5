package zookeeper

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
	"github.com/fencelab/fencelab/pkg/fence"
)

// followAgain is the pause before a member is asked again that does not tell.
const followAgain = 50 * time.Millisecond

// observer has each member tell the account what happens, so that nothing is missed while one of them is away.
type observer struct {
	account *account
	locks   []string

	mu      sync.Mutex
	streams map[string]*watch.Stream // of the members that tell now, by address
	failed  map[string]error         // why a member last did not tell
	changed chan struct{}            // closed when there are others
}

// follow has a member tell until ctx is done, also after its stream has ended. One that has just
// begun to serve may not answer at once.
func (o *observer) follow(ctx context.Context, addr string) {
	for ctx.Err() == nil {
		s, err := o.join(ctx, addr)
		if err == nil {
			select {
			case <-s.Done():
			case <-ctx.Done():
			}
			s.Close()
			err = s.Err()
		}
		o.note(addr, nil, err)
		sleep.For(ctx, followAgain)
	}
}

// note notes which stream is that of a member, and returns the one before; nil: there is none, and err says why.
func (o *observer) note(addr string, s *watch.Stream, err error) (before *watch.Stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, o.failed[addr] = o.streams[addr], err
	delete(o.streams, addr)
	if s != nil {
		o.streams[addr] = s
	}
	close(o.changed)
	o.changed = make(chan struct{})
	return before
}

// await returns when a member tells.
func (o *observer) await(ctx context.Context, addr string) error {
	for {
		o.mu.Lock()
		tells, changed, failed := o.streams[addr] != nil, o.changed, o.failed[addr]
		o.mu.Unlock()
		if tells {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(failed, context.Cause(ctx))
		}
	}
}

// join has a member tell, and returns when the account has all that it might have told
// before: from another member, or by what is there.
func (o *observer) join(ctx context.Context, addr string) (*watch.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, service.ObserveDeadline)
	defer cancel()
	held := &holding{tell: o.account.see}
	s, err := watch.Follow(ctx, addr, o.locks, held.see)
	if err != nil {
		return nil, err
	}
	_, err = o.position(ctx)
	if err == nil || err == errNobody {
		held.letGo()
	}
	if err == errNobody {
		err = o.compare(ctx, s)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	o.note(addr, s, nil)
	return s, nil
}

// compare has the account take in what is there.
func (o *observer) compare(ctx context.Context, s *watch.Stream) error {
	if _, err := s.Position(ctx); err != nil { // the member has all that was before
		return err
	}
	for _, lock := range o.locks {
		nodes, zxid, err := s.Children(ctx, lock)
		if err != nil {
			return err
		}
		o.account.compare(lock, nodes, zxid)
	}
	return nil
}

// errNobody says that no member tells.
var errNobody = errors.New("no member of ZooKeeper tells who holds its locks")

// position is the number of a transaction, and the account has what was done before. It is
// that of the first of the members that answers.
func (o *observer) position(ctx context.Context) (zxid int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		zxid int64
		err  error
	}
	o.mu.Lock()
	answers := make(chan answer, len(o.streams))
	for _, s := range o.streams {
		go func() {
			zxid, err := s.Position(ctx)
			answers <- answer{zxid, err}
		}()
	}
	o.mu.Unlock()
	for range cap(answers) {
		if a := <-answers; a.err == nil {
			return a.zxid, nil
		}
	}
	return 0, errNobody
}

// holding holds back what a member tells until the account has what was before.
type holding struct {
	tell func(watch.Event)

	mu   sync.Mutex
	held []watch.Event
	free bool
}

func (h *holding) see(e watch.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.free {
		h.tell(e)
	} else {
		h.held = append(h.held, e)
	}
}

func (h *holding) letGo() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.held {
		h.tell(e)
	}
	h.held, h.free = nil, true
}

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
