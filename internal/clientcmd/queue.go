package clientcmd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/history"
)

// queue is a wait for the lock in the background.
type queue struct {
	asked  history.Event
	place  *mutexTenure
	cancel context.CancelFunc
	err    chan error // has what Mutex.Lock returned
}

// over has the end of the wait; nil where there is none.
func (q *queue) over() <-chan error {
	if q == nil {
		return nil
	}
	return q.err
}

// enqueue asks for the lock and returns when it stands in the queue, or was
// granted the lock at once; its place has to be answered within --timeout. Until
// the grant the agent shows the create revision of its place, unless it shows
// something else at all: the header is not there yet.
func (a *agent) enqueue(ctx context.Context, _ string) error {
	asked := a.invoke(history.Event{Op: history.OpLock, Scope: a.config.lock})
	if a.mayAsk(asked) != nil {
		return nil
	}
	var place *mutexTenure
	err := a.members.insist(func() (err error) {
		place, err = a.openMutex(ctx, clientv3.NoLease)
		return err
	})
	if err != nil {
		a.conclude(asked, err)
		return nil
	}
	waiting, cancel := context.WithCancel(ctx)
	a.queue = &queue{asked, place, cancel, make(chan error, 1)}
	go func(q *queue) {
		defer a.members.attend()()
		q.err <- q.place.take(waiting, history.OpLock)
	}(a.queue)
	select {
	case <-place.waits:
		kind := a.token.value
		if kind == tokenHeader {
			kind = tokenRevision
		}
		a.hold(place, tokenOf(kind, place))
	case err := <-a.queue.over():
		a.leaveQueue(ctx, err)
	case <-time.After(a.timeout):
		a.giveUp(ctx)
	}
	return nil
}

// wait waits for --timeout for the lock that was queued for. Where the end of that
// was reported before there is nothing to wait for.
func (a *agent) wait(ctx context.Context, _ string) error {
	if a.queue == nil {
		return nil
	}
	select {
	case err := <-a.queue.over():
		a.leaveQueue(ctx, err)
	case <-time.After(a.timeout):
		a.giveUp(ctx)
	case <-ctx.Done():
	}
	return nil
}

// giveUp leaves the queue, unless the lock was granted just now.
func (a *agent) giveUp(ctx context.Context) {
	a.queue.cancel()
	err := <-a.queue.over()
	if err != nil {
		err = notGranted(err)
	}
	a.leaveQueue(ctx, err)
}

// leaveQueue reports the end of the wait.
func (a *agent) leaveQueue(ctx context.Context, err error) {
	q := a.queue
	a.queue = nil
	q.cancel()
	if err != nil && a.held != nil && a.held.position == q.place {
		a.held = nil
	}
	a.granted(ctx, q.asked, q.place, err)
}
