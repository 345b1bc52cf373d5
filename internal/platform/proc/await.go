package proc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// awaitTick is for how long Await waits before it asks again.
const awaitTick = 10 * time.Millisecond

// slowStart is after what time a group's Waits is told of a process that does not serve. It is a
// variable for tests.
var slowStart = 10 * time.Second

// Await returns when the process serves, which ask asks once and says by a nil error. It
// kills a process that does not serve before ctx ends. A process that ends before it serves
// is an error that says how.
func (p *Process) Await(ctx context.Context, ask func(context.Context) error) error {
	slow := time.After(slowStart)
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return p.Ended()
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s does not serve: %w (%w)", p.Name, err, context.Cause(ctx)), p.Kill())
		case <-slow:
			p.waits(ctx, err)
		case <-time.After(awaitTick):
		}
	}
}

// waits tells what is waited for, and until when.
func (p *Process) waits(ctx context.Context, err error) {
	text := fmt.Sprintf("%s does not serve yet: %v", p.Name, err)
	if end, bounded := ctx.Deadline(); bounded {
		text += fmt.Sprintf("; it has %v more", time.Until(end).Round(time.Second))
	}
	p.told(text)
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
