package etcd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// watch is the lock service's own account of tenures: a watch of the locks' keys
// that no client has a part in.
type watch struct {
	client *clientv3.Client
	queues map[string]*queue // by lock
	stop   context.CancelFunc
	ended  chan struct{}
}

// observeDeadline is for how long etcd is asked for the beginning of the account.
const observeDeadline = 30 * time.Second

// Observe implements service.Servers: it goes through a member that no story stops.
func (s *servers) Observe(ctx context.Context) error {
	if s.cluster == nil || len(s.cluster.Members) == 1 {
		return s.observe(ctx, s.endpoints, nil)
	}
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	return s.observe(ctx, []string{s.others(leader)[0].Endpoint()}, nil)
}

// observe begins the account, through some members. After another watch has
// stopped it goes on where that one did. With revoke, etcd's past is another one now: the
// account begins with what is there, and revoke says which tenures are over.
func (s *servers) observe(ctx context.Context, endpoints []string, revoke func(yes func(tenure string) bool)) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	old, queues := s.observer, make(map[string]*queue)
	for _, lock := range s.stage.Plan().Locks {
		queues[lock] = newQueue(lock)
	}
	if old != nil && revoke == nil {
		queues = old.queues
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watch{client: client, queues: queues, stop: stop, ended: make(chan struct{})}
	s.observer = w
	starting, cancel := context.WithTimeoutCause(ctx, observeDeadline, noAnswer(endpoints, observeDeadline))
	defer cancel()
	// A watch is there when etcd has said so, which may never be.
	defer context.AfterFunc(starting, func() {
		if starting.Err() != context.Canceled {
			stop()
		}
	})()
	var follow []func()
	for _, lock := range slices.Sorted(maps.Keys(queues)) {
		q := queues[lock]
		if q.seen == 0 {
			now, err := client.Get(starting, etcdlock.Prefix(lock), clientv3.WithPrefix())
			if err == nil {
				q.begin(now)
			}
			if err == nil && old != nil {
				err = s.forget(starting, old.queues[lock], q, revoke)
			}
			if err != nil {
				stop()
				client.Close()
				return fmt.Errorf("observer: %w", cmp.Or(context.Cause(starting), err))
			}
		}
		changes := client.Watch(ctx, etcdlock.Prefix(lock), clientv3.WithPrefix(), clientv3.WithRev(q.seen+1))
		follow = append(follow, func() { q.follow(ctx, changes, s.stage) })
	}
	if starting.Err() != nil {
		stop()
		client.Close()
		return fmt.Errorf("observer: %w", context.Cause(starting))
	}
	s.stage.Go(func() {
		defer close(w.ended)
		defer client.Close()
		done := make(chan struct{})
		for _, f := range follow {
			go func() { f(); done <- struct{}{} }()
		}
		for range follow {
			<-done
		}
	})
	return nil
}

// forget ends the tenures that etcd's past, which is another one now, does not have.
// Those that it has go on, or once more.
func (s *servers) forget(ctx context.Context, before, now *queue, revoke func(yes func(tenure string) bool)) error {
	for _, p := range before.lacking(now) {
		revoke(func(tenure string) bool { return tenure == p.tenure() })
		err := s.stage.Meanwhile(ctx, "the end of what etcd has forgotten", func(context.Context) error {
			s.stage.Tell(now.event(history.KindEnded, p))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queue is that of one lock: who holds it, and who waits.
type queue struct {
	scope  string
	places map[string]*keyPlace // by key
	seen   int64                // revision
}

// keyPlace is one in the queue. When it is granted the lock it is a tenure.
type keyPlace struct {
	key      string
	revision int64 // of its creation
	granted  bool
}

func newQueue(scope string) *queue {
	return &queue{scope: scope, places: make(map[string]*keyPlace)}
}

func (p *keyPlace) tenure() string { return tenureOf(p.key, p.revision) }

// begin takes the queue as it is. Its holders are none that anybody has to be told of.
func (q *queue) begin(now *clientv3.GetResponse) {
	q.seen = now.Header.Revision
	for _, kv := range now.Kvs {
		q.places[string(kv.Key)] = &keyPlace{key: string(kv.Key), revision: kv.CreateRevision}
	}
	q.grant()
}

// inOrder are the places in the order of their create revisions.
func (q *queue) inOrder() []*keyPlace {
	return slices.SortedFunc(maps.Values(q.places), func(a, b *keyPlace) int { return cmp.Compare(a.revision, b.revision) })
}

// lacking are the tenures of q that another account of the lock does not have.
func (q *queue) lacking(other *queue) []*keyPlace {
	return slices.DeleteFunc(q.inOrder(), func(p *keyPlace) bool {
		same := other.places[p.key]
		return !p.granted || same != nil && same.revision == p.revision
	})
}

func (q *queue) follow(ctx context.Context, changes clientv3.WatchChan, stage service.Stage) {
	for change := range changes {
		if err := change.Err(); err != nil && ctx.Err() == nil {
			stage.Fail(nil, fmt.Errorf("the observer's watch of %s: %w", q.scope, err))
			return
		}
		for _, e := range change.Events {
			stage.Tell(q.see(e)...)
			q.seen = e.Kv.ModRevision
		}
	}
}

// see takes in a change of the queue and says what it means.
func (q *queue) see(e *clientv3.Event) (told []history.Event) {
	key := string(e.Kv.Key)
	p, known := q.places[key]
	switch {
	case e.Type == mvccpb.Event_DELETE && known:
		delete(q.places, key)
		return append([]history.Event{q.event(history.KindEnded, p)}, q.grant()...)
	case e.Type == mvccpb.Event_DELETE || known: // touched again by its holder
		return nil
	}
	p = &keyPlace{key: key, revision: e.Kv.CreateRevision}
	q.places[key] = p
	if told = q.grant(); !p.granted {
		told = append(told, q.event(history.KindQueued, p))
	}
	return told
}

// grant grants the lock to those whose turn it is, and tells of it: to the first, as
// package concurrency has it, and as etcdlock has it to those that share the lock and
// have nobody before them who does not.
func (q *queue) grant() (told []history.Event) {
	for i, p := range q.inOrder() {
		shared := etcdlock.ModeOf(p.key) == fence.Shared
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

func (q *queue) event(kind history.Kind, p *keyPlace) history.Event {
	e := history.Event{
		At: time.Duration(time.Now().UnixNano()), Lane: Name, Kind: kind,
		Scope: q.scope, Tenure: p.tenure(),
	}
	if kind != history.KindEnded {
		e.Token, e.Mode = fence.Token(p.revision), etcdlock.ModeOf(p.key)
	}
	return e
}

// stopObserving ends the account, and waits until all of it is taken in.
func (s *servers) stopObserving(ctx context.Context, story service.Story) error {
	s.observer.stop()
	return story.AwaitClosed(ctx, "the end of the observer's account", s.observer.ended)
}
