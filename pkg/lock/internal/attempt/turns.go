package attempt

import "context"

// turns has requests about a lease be sent one after the other: of two that are under way the lock service may carry out the
// earlier one last. It has an element while a request is under way.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

// take returns when no other request is under way. The next one waits until done is called.
func (t turns) take(ctx context.Context) (done func(), err error) {
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
