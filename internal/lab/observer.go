package lab

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// observe starts the observer: the lock service's own account of tenures, by a
// watch of the locks' keys that no client has a part in.
func (w *world) observe(ctx context.Context, locks []string, r *run) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{w.etcd}, Logger: zap.NewNop(), Context: ctx})
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	var watches []func()
	for _, lock := range locks {
		o := &observer{scope: lock, queue: make(map[string]int64)}
		// The first answer says that the watch is there.
		changes := client.Watch(ctx, etcdlock.Prefix(lock), clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		select {
		case first := <-changes:
			if err := first.Err(); err != nil {
				return fmt.Errorf("observer: watch %s: %w", lock, err)
			}
		case <-w.procs[history.LaneEtcd].Done():
			return fmt.Errorf("observer: %w", w.procs[history.LaneEtcd].Ended())
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(startDeadline):
			return fmt.Errorf("observer: etcd does not answer after %v", startDeadline)
		}
		watches = append(watches, func() { o.run(changes, r) })
	}
	for _, watch := range watches {
		w.readers.Go(watch)
	}
	context.AfterFunc(ctx, func() { client.Close() })
	return nil
}

// observer follows the queue of one lock.
type observer struct {
	scope  string
	queue  map[string]int64 // key of a holder or waiter → create revision
	holder string
}

func (o *observer) run(changes clientv3.WatchChan, r *run) {
	for change := range changes {
		if err := change.Err(); err != nil {
			r.fail(history.LaneEtcd, fmt.Errorf("the observer's watch of %s: %w", o.scope, err))
			return
		}
		for _, e := range change.Events {
			for _, told := range o.see(e) {
				r.tell(told)
			}
		}
	}
}

// see takes in a change of the queue and says what it means. As package
// concurrency has it, the key with the lowest create revision is the holder's.
func (o *observer) see(e *clientv3.Event) (told []history.Event) {
	key := string(e.Kv.Key)
	if e.Type == mvccpb.Event_PUT {
		o.queue[key] = e.Kv.CreateRevision
	} else {
		delete(o.queue, key)
		if key == o.holder {
			told = append(told, o.event(history.KindEnded, key, 0))
			o.holder = ""
		}
	}
	if o.holder != "" || len(o.queue) == 0 {
		return told
	}
	for k, revision := range o.queue {
		if o.holder == "" || revision < o.queue[o.holder] {
			o.holder = k
		}
	}
	return append(told, o.event(history.KindGranted, o.holder, o.queue[o.holder]))
}

func (o *observer) event(kind history.Kind, tenure string, token int64) history.Event {
	return history.Event{
		At: time.Duration(time.Now().UnixNano()), Lane: history.LaneEtcd, Kind: kind,
		Scope: o.scope, Tenure: tenure, Token: fence.Token(token),
	}
}
