package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
)

// ended is the end of a wait in the background: err is why the lock was not granted.
type ended struct {
	place *held
	err   error
}

// enqueue asks for a lock and returns when it stands in the queue, or was
// granted the lock at once; its place has to be answered within --timeout.
func (a *agent) enqueue(ctx context.Context, arg string) error {
	lock, err := oneLock("queue", arg)
	if err := cmp.Or(err, a.limit("queue")); err != nil {
		return err
	}
	lock = cmp.Or(lock, a.Scope)
	asked := a.invoke(history.Event{Op: history.OpLock, Scope: lock})
	if a.mayAsk(asked) != nil {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	place, err := a.Locks.Enqueue(asking, lock)
	if err != nil {
		a.granted(ctx, asked, nil, inTime(asking, err))
		return nil
	}
	h, _ := a.hold(lock, place)
	h.place, h.asked = place, asked
	a.places = append(a.places, h)
	select {
	case err := <-place.Granted():
		a.leaveQueue(ctx, ended{h, err})
	default:
		if w, ok := place.(service.Waiter); ok {
			e := a.about(lock)
			e.Kind, e.Op, e.Text = history.KindNote, "queue", a.Name+" "+w.Waits()
			a.report(e)
		}
		go func() { a.over <- ended{h, <-place.Granted()} }()
	}
	return nil
}

// wait waits for a lock that was queued for. Where the end of that was reported
// before there is nothing to wait for.
func (a *agent) wait(ctx context.Context, arg string) error {
	lock, rest := a.lockFirst(arg)
	long, rest, err := a.within(rest)
	switch {
	case err != nil:
		return fmt.Errorf("wait %w", err)
	case strings.TrimSpace(rest) != "":
		return fmt.Errorf(`wait %s: want nothing more, or "within TIME"`, rest)
	}
	if h := a.find(lock); h != nil && h.waits() {
		a.awaitPlace(ctx, h, long)
	}
	return nil
}

// awaitPlace waits so long for a lock that was queued for, and then leaves the
// queue. How other waits end meanwhile it reports as well.
func (a *agent) awaitPlace(ctx context.Context, h *held, long time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	defer context.AfterFunc(waiting, h.place.Leave)()
	for h.waits() {
		end := <-a.over
		if end.place == h {
			end.err = inTime(waiting, end.err) // it may have been granted just now
		}
		a.leaveQueue(ctx, end)
	}
}

// leaveQueue reports the end of a wait.
func (a *agent) leaveQueue(ctx context.Context, end ended) {
	h, place := end.place, end.place.place
	h.place = nil
	a.places = slices.DeleteFunc(a.places, func(other *held) bool { return other == h })
	if end.err != nil {
		a.forget(h)
	}
	a.granted(ctx, h.asked, place, end.err)
}

// leaveQueues ends all waits.
func (a *agent) leaveQueues(ctx context.Context) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	for _, h := range a.places {
		h.place.Leave()
	}
	for len(a.places) > 0 {
		a.leaveQueue(over, <-a.over)
	}
}
