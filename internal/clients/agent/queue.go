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

// opening reads the lock behind a verb, and reports that it is asked for. If that may not be, ok is false,
// and err says why nothing was done, or is nil where the outcome was reported.
func (a *agent) opening(verb, arg string) (asked history.Event, ok bool, err error) {
	lock, err := oneLock(verb, arg)
	if err := cmp.Or(err, a.limit(verb)); err != nil {
		return asked, false, err
	}
	asked = a.invoke(history.Event{Op: history.OpLock, Scope: cmp.Or(lock, a.Scope)})
	return asked, a.mayAsk(asked) == nil, nil
}

// enqueue asks for a lock, and returns when it stands in the queue, or has the lock: within --timeout.
func (a *agent) enqueue(ctx context.Context, arg string) error {
	asked, ok, err := a.opening("queue", arg)
	if !ok {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	place, err := a.Locks.Enqueue(asking, asked.Scope)
	if err != nil {
		a.granted(ctx, asked, nil, inTime(asking, err))
		return nil
	}
	h, _ := a.hold(asked.Scope, place)
	h.place, h.asked = place, asked
	a.places = append(a.places, h)
	select {
	case err := <-place.Granted():
		a.leaveQueue(ctx, ended{h, err})
	default:
		if w, ok := place.(service.Waiter); ok {
			a.note(asked.Scope, "queue", a.Name+" "+w.Waits())
		}
		go func() { a.over <- ended{h, <-place.Granted()} }()
	}
	return nil
}

// wait waits for a lock that was queued for, unless the end of that wait was reported before.
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

// giveUp gives up a place in a queue, if the lock was not granted meanwhile, and reports what came of it.
func (a *agent) giveUp(ctx context.Context, arg string) error {
	lock, err := oneLock("leave", arg)
	if err != nil {
		return err
	}
	if h := a.find(cmp.Or(lock, a.Scope)); h != nil && h.waits() {
		a.awaitPlace(ctx, h, 0)
	}
	return nil
}

// awaitPlace waits so long for a lock that was queued for, and leaves the queue. It reports other ends, too.
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

func (a *agent) leaveQueue(ctx context.Context, end ended) {
	h, place := end.place, end.place.place
	h.place = nil
	a.places = slices.DeleteFunc(a.places, func(other *held) bool { return other == h })
	if end.err != nil {
		a.forget(h)
	}
	a.granted(ctx, h.asked, place, end.err)
}

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

// halfway is a lock that was begun: the lock service has given it, and the client has yet to do the rest.
type halfway struct {
	asked  history.Event
	stands chan string   // gets the tenure's name
	goOn   chan struct{} // closed when the client may do the rest
	over   chan taken
}

type taken struct {
	tenure service.Tenure
	err    error
}

// beginLock asks for a lock and stands as soon as it is taken. Each half is bounded by --timeout.
func (a *agent) beginLock(ctx context.Context, arg string) error {
	asked, ok, err := a.opening("begin lock", arg)
	if !ok {
		return err
	}
	h := &halfway{asked: asked, stands: make(chan string), goOn: make(chan struct{}), over: make(chan taken, 1)}
	go h.take(ctx, a.Locks, a.timeout)
	select {
	case tenure := <-h.stands:
		a.half = h
		a.stand(history.Event{Op: history.OpLock, Scope: asked.Scope, Tenure: tenure,
			Text: fmt.Sprintf("%s has taken %s by its first request, and stands before it does more", a.Name, asked.Scope)})
	case end := <-h.over:
		a.granted(ctx, asked, end.tenure, end.err)
	}
	return nil
}

func (h *halfway) take(ctx context.Context, locks service.Client, timeout time.Duration) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(timeout, cancel)
	defer timer.Stop()
	t, err := locks.Lock(service.Halfway(asking, func(tenure string) {
		timer.Stop()
		h.stands <- tenure
		<-h.goOn
		timer.Reset(timeout)
	}), h.asked.Scope, "")
	h.over <- taken{t, inTime(asking, err)}
}

func (a *agent) finishLock(ctx context.Context) {
	h := a.half
	a.half = nil
	close(h.goOn)
	end := <-h.over
	a.granted(ctx, h.asked, end.tenure, end.err)
	a.goOn()
}
