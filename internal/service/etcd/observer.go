package etcd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// watch is the lock service's own account of tenures: a watch of the locks' keys that no client has a part in.
type watch struct {
	client *clientv3.Client
	queues map[string]*queue // by lock
	stop   context.CancelFunc
	ended  chan struct{}
}

// Observe implements service.Servers: it goes through a member that no story stops.
func (s *servers) Observe(ctx context.Context) error {
	if s.cluster == nil || len(s.cluster.Members) == 1 {
		return s.observe(ctx, s.endpoints, nil)
	}
	follower, err := s.Role(ctx, service.MemberFollower)
	if err != nil {
		return err
	}
	return s.observe(ctx, []string{follower.Endpoint()}, nil)
}

// observe begins the account, through some members. After another watch has
// stopped it goes on where that one did. With revoke, etcd's past is another one now: the
// account begins with what is there, and revoke says which tenures are over.
func (s *servers) observe(ctx context.Context, endpoints []string, revoke func(yes func(tenure string) bool)) (failed error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	old, queues := s.observer, make(map[string]*queue)
	for _, lock := range s.Stage.Plan().Locks {
		queues[lock] = newQueue(lock)
	}
	if old != nil && revoke == nil {
		queues = old.queues
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watch{client: client, queues: queues, stop: stop, ended: make(chan struct{})}
	s.observer = w
	defer func() {
		if failed != nil {
			stop()
			client.Close()
		}
	}()
	starting, cancel := context.WithTimeoutCause(ctx, service.ObserveDeadline, noAnswer(endpoints, service.ObserveDeadline))
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
				return fmt.Errorf("observer: %w", cmp.Or(context.Cause(starting), err))
			}
		}
		changes := client.Watch(ctx, etcdlock.Prefix(lock), clientv3.WithPrefix(), clientv3.WithRev(q.seen+1))
		follow = append(follow, func() { q.follow(ctx, changes, s.Stage) })
	}
	if starting.Err() != nil {
		return fmt.Errorf("observer: %w", context.Cause(starting))
	}
	s.Stage.Go(func() {
		defer close(w.ended)
		defer client.Close()
		var following sync.WaitGroup
		for _, f := range follow {
			following.Go(f)
		}
		following.Wait()
	})
	return nil
}

// forget ends the tenures that etcd's past, which is another one now, does not have.
// Those that it has go on, or once more.
func (s *servers) forget(ctx context.Context, before, now *queue, revoke func(yes func(tenure string) bool)) error {
	for _, p := range before.lacking(now) {
		revoke(func(tenure string) bool { return tenure == p.Tenure })
		err := s.Stage.Meanwhile(ctx, "the end of what etcd has forgotten", func(context.Context) error {
			s.Stage.Tell(now.Event(history.KindEnded, p))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// queue is the queue of one lock. A key that is in it again, with another create revision, is of another tenure.
type queue struct {
	*service.Line
	seen int64 // revision
}

func newQueue(scope string) *queue { return &queue{Line: service.NewLine(Name, scope)} }

func standing(kv *mvccpb.KeyValue) service.Standing {
	key := string(kv.Key)
	return service.Standing{Key: key, Tenure: tenureOf(key, kv.CreateRevision), Token: fence.Token(kv.CreateRevision), Mode: etcdlock.ModeOf(key)}
}

// begin takes the queue as it is. Its holders are none that anybody has to be told of.
func (q *queue) begin(now *clientv3.GetResponse) {
	q.seen = now.Header.Revision
	slices.SortFunc(now.Kvs, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) })
	for _, kv := range now.Kvs {
		q.Enter(standing(kv))
	}
}

// lacking are the tenures of q that another account of the lock does not have.
func (q *queue) lacking(other *queue) []*service.Standing {
	return slices.DeleteFunc(q.InOrder(), func(p *service.Standing) bool {
		same := other.At(p.Key)
		return !p.Granted || same != nil && same.Tenure == p.Tenure
	})
}

func (q *queue) follow(ctx context.Context, changes clientv3.WatchChan, stage service.Stage) {
	for change := range changes {
		if err := change.Err(); err != nil && ctx.Err() == nil {
			stage.Fail(nil, fmt.Errorf("the observer's watch of %s: %w", q.Lock, err))
			return
		}
		for _, e := range change.Events {
			stage.Tell(q.see(e)...)
			q.seen = e.Kv.ModRevision
		}
	}
}

// see takes in a change of the queue and says what it means. Its holder may touch a key again.
func (q *queue) see(e *clientv3.Event) []history.Event {
	if e.Type == mvccpb.Event_DELETE {
		return q.Leave(string(e.Kv.Key))
	}
	return q.Enter(standing(e.Kv))
}

// stopObserving ends the account, and waits until all of it is taken in.
func (s *servers) stopObserving(ctx context.Context, story service.Story) error {
	s.observer.stop()
	return story.AwaitClosed(ctx, "the end of the observer's account", s.observer.ended)
}
