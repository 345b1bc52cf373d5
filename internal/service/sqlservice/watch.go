package sqlservice

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service"
)

// Watch reads what a database tells of locks, every PollEvery, until the database ends or
// the watch is told to. The end of a lock that a connection has is told so much later at
// most, but before the next grant of it.
type Watch struct {
	ended chan struct{}
	over  chan struct{}
	stop  func()
}

// Follow begins one. Each round takes in what is new; hangUp ends what the rounds need. The
// end of the watch by an error fails the run, unless the process p was meant to end.
func Follow(ctx context.Context, stage service.Stage, p *proc.Process, a *Account, round func(context.Context) error, hangUp func()) *Watch {
	w := &Watch{ended: make(chan struct{}), over: make(chan struct{})}
	w.stop = sync.OnceFunc(func() { close(w.over) })
	stage.Go(func() {
		defer close(w.ended)
		defer hangUp()
		if err := w.follow(ctx, round); err != nil && ctx.Err() == nil {
			a.Crashed() // else the run ends here
			stage.Fail(p, fmt.Errorf("the observer of %s: %w", a.name, err))
		}
	})
	return w
}

func (w *Watch) follow(ctx context.Context, round func(context.Context) error) error {
	for {
		if err := round(ctx); err != nil {
			return err
		}
		select {
		case <-w.over:
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(PollEvery):
		}
	}
}

// Ended is closed when the account has all that the database told.
func (w *Watch) Ended() <-chan struct{} { return w.ended }

// End ends the watch.
func (w *Watch) End() {
	w.stop()
	<-w.ended
}
