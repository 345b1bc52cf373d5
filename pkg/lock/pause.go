package lock

import (
	"context"
	"math/rand/v2"
	"time"
)

// The pauses between attempts at a service that fails: the first one is pauseFirst at most,
// each is up to twice as long as the one before, and none is longer than pauseMost.
const (
	pauseFirst = 100 * time.Millisecond
	pauseMost  = 5 * time.Second
)

// pauses are the pauses of one caller. Half of each is random, so that callers that fail
// together do not come back together.
type pauses struct{ next time.Duration }

// wait waits until the next attempt, or until ctx is done, and then returns its cause. The
// attempt before began at that time: after one that lasted for longer than pauseMost the
// pauses begin anew, because the service was there.
func (p *pauses) wait(ctx context.Context, began time.Time) error {
	if p.next == 0 || time.Since(began) > pauseMost {
		p.next = pauseFirst
	}
	pause := p.next/2 + rand.N(p.next/2)
	p.next = min(2*p.next, pauseMost)
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
