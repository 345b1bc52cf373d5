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
		return s.observe(ctx, s.endpoints, false)
	}
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	return s.observe(ctx, []string{s.others(leader)[0].Endpoint()}, false)
}

// observe begins the account, through some members. After another watch has
// stopped it goes on where that one did; anew says that etcd's past is another
// one now, and begins with what is there.
func (s *servers) observe(ctx context.Context, endpoints []string, anew bool) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	old, queues := s.observer, make(map[string]*queue)
	for _, lock := range s.stage.Locks() {
		queues[lock] = &queue{scope: lock, places: make(map[string]int64)}
	}
	if old != nil && !anew {
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
				err = s.forget(starting, old.queues[lock].holder, q)
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

// forget ends the tenure that was the last of a lock where etcd's past, which is
// another one now, does not have it. One that it has goes on, or once more.
func (s *servers) forget(ctx context.Context, tenure string, now *queue) error {
	for key, place := range now.places {
		if tenureOf(key, place) == tenure {
			return nil
		}
	}
	if tenure == "" {
		return nil
	}
	s.stage.Revoked(func(other string) bool { return other == tenure })
	return s.stage.Meanwhile(ctx, "the end of what etcd has forgotten", func(context.Context) error {
		s.stage.Tell(history.Event{
			At: time.Duration(time.Now().UnixNano()), Lane: Service{}.Name(), Kind: history.KindEnded,
			Scope: now.scope, Tenure: tenure,
		})
		return nil
	})
}

// queue is that of one lock: who holds it, and who waits.
type queue struct {
	scope  string
	places map[string]int64 // key → create revision
	holder string           // tenure
	seen   int64            // revision
}

// begin takes the queue as it is. Its holder is none that anybody has to be told of.
func (q *queue) begin(now *clientv3.GetResponse) {
	q.seen = now.Header.Revision
	for _, kv := range now.Kvs {
		q.places[string(kv.Key)] = kv.CreateRevision
	}
	if len(q.places) > 0 {
		first := q.first()
		q.holder = tenureOf(first, q.places[first])
	}
}

// first is the key of the holder: as package concurrency has it, the one with the
// lowest create revision.
func (q *queue) first() string {
	return slices.MinFunc(slices.Collect(maps.Keys(q.places)), func(a, b string) int { return cmp.Compare(q.places[a], q.places[b]) })
}

func (q *queue) follow(ctx context.Context, changes clientv3.WatchChan, stage service.Stage) {
	for change := range changes {
		if err := change.Err(); err != nil && ctx.Err() == nil {
			stage.Fail(nil, fmt.Errorf("the observer's watch of %s: %w", q.scope, err))
			return
		}
		for _, e := range change.Events {
			for _, told := range q.see(e) {
				stage.Tell(told)
			}
			q.seen = e.Kv.ModRevision
		}
	}
}

// see takes in a change of the queue and says what it means.
func (q *queue) see(e *clientv3.Event) (told []history.Event) {
	key := string(e.Kv.Key)
	place, known := q.places[key]
	if e.Type == mvccpb.Event_PUT {
		if q.places[key] = e.Kv.CreateRevision; !known && q.holder != "" {
			told = append(told, q.event(history.KindQueued, key))
		}
	} else {
		delete(q.places, key)
		if known { // a holder's, or a place in the queue
			ended := q.event(history.KindEnded, key)
			ended.Tenure, ended.Token = tenureOf(key, place), 0
			told = append(told, ended)
			if ended.Tenure == q.holder {
				q.holder = ""
			}
		}
	}
	if q.holder != "" || len(q.places) == 0 {
		return told
	}
	first := q.first()
	q.holder = tenureOf(first, q.places[first])
	return append(told, q.event(history.KindGranted, first))
}

func (q *queue) event(kind history.Kind, key string) history.Event {
	return history.Event{
		At: time.Duration(time.Now().UnixNano()), Lane: Service{}.Name(), Kind: kind,
		Scope: q.scope, Tenure: tenureOf(key, q.places[key]), Token: fence.Token(q.places[key]),
	}
}

// stopObserving ends the account, and waits until all of it is taken in.
func (s *servers) stopObserving(ctx context.Context) error {
	s.observer.stop()
	return s.stage.AwaitClosed(ctx, "the end of the observer's account", s.observer.ended)
}
