package proc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// awaitTick is for how long Await waits before it asks again.
const awaitTick = 10 * time.Millisecond

// Await returns when the process serves, which ask asks once and says by a nil error. It
// kills a process that does not serve before ctx ends. A process that ends before it serves
// is an error that says how.
func (p *Process) Await(ctx context.Context, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return p.Ended()
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s does not serve: %w", p.Name, err), p.Kill())
		case <-time.After(awaitTick):
		}
	}
}

// AwaitEnd returns when a process has ended that is to end by itself. Its error is that of a
// process that failed, or that had to be killed as ctx ended before.
func (p *Process) AwaitEnd(ctx context.Context) error {
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s has not ended: %w", p.Name, context.Cause(ctx)), p.Kill())
	}
	if p.err != nil {
		return p.Ended()
	}
	return nil
}
