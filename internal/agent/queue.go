package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// over has the end of the wait in the queue; nil where there is none.
func (a *agent) over() <-chan error {
	if a.place == nil {
		return nil
	}
	return a.place.Granted()
}

// enqueue asks for the lock and returns when it stands in the queue, or was
// granted the lock at once; its place has to be answered within --timeout.
func (a *agent) enqueue(ctx context.Context, _ string) error {
	asked := a.invoke(history.Event{Op: history.OpLock, Scope: a.Scope})
	if a.mayAsk(asked) != nil {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	place, err := a.Locks.Enqueue(asking, a.Scope)
	if err != nil {
		a.granted(ctx, asked, nil, inTime(asking, err))
		return nil
	}
	a.place, a.queued = place, asked
	a.hold(place)
	select {
	case err := <-place.Granted():
		a.leaveQueue(ctx, err)
	default:
	}
	return nil
}

// wait waits for the lock that was queued for. Where the end of that was reported
// before there is nothing to wait for.
func (a *agent) wait(ctx context.Context, arg string) error {
	long, rest, err := a.within(arg)
	switch {
	case err != nil:
		return fmt.Errorf("wait %w", err)
	case strings.TrimSpace(rest) != "":
		return fmt.Errorf(`wait %s: want nothing more, or "within TIME"`, rest)
	case a.place != nil:
		a.awaitPlace(ctx, long)
	}
	return nil
}

// awaitPlace waits so long for the lock that was queued for, and then leaves the
// queue.
func (a *agent) awaitPlace(ctx context.Context, long time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	var err error
	select {
	case err = <-a.over():
	case <-waiting.Done():
		a.place.Leave()
		err = inTime(waiting, <-a.over()) // it may have been granted just now
	}
	a.leaveQueue(ctx, err)
}

// leaveQueue reports the end of the wait.
func (a *agent) leaveQueue(ctx context.Context, err error) {
	place := a.place
	a.place = nil
	if err != nil && a.held != nil && a.held.Tenure == place {
		a.held = nil
	}
	a.granted(ctx, a.queued, place, err)
}
