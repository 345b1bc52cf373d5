package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
)

// halfway is a lock that was begun: it is taken in the lock service, and the client has
// yet to do the rest, and to know of it.
type halfway struct {
	asked  history.Event
	stands chan string   // gets the tenure's name
	goOn   chan struct{} // closed when the client may do the rest
	over   chan taken
}

// taken is what became of asking for a lock.
type taken struct {
	tenure service.Tenure
	err    error
}

// beginLock asks for a lock and stands as soon as that is taken, before anything else
// that taking it is of. Each half is bounded by --timeout.
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

// finishLock does the rest of a lock that was begun.
func (a *agent) finishLock(ctx context.Context) {
	h := a.half
	a.half = nil
	close(h.goOn)
	end := <-h.over
	a.granted(ctx, h.asked, end.tenure, end.err)
	a.goOn()
}
