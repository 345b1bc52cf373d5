package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// ErrStepDown is what a leader returns to Lead in order to free the lock and to stand again.
var ErrStepDown = fence.Definite.New("lock: the leader steps down")

// Lead stands for the lock of scope, runs f under it as Do does, and stands again when the
// tenure is over. f is what the leader does; each of its runs is a term, with a grant of its
// own. No two terms of one Lead overlap: Lead waits for f to return.
//
// What ends a term says what comes next:
//
//   - f returns nil: its work is done. Lead frees the lock, and returns what the release says.
//   - f returns ErrStepDown: Lead frees the lock, and stands again after a pause, in which
//     another candidate gets it.
//   - The tenure is lost, or the resource refuses f's claim because a later leader has begun:
//     an error of f or of the release matches ErrLost, ErrCutOff or fence.ErrStale. Lead
//     stands again.
//   - f returns another error: Lead frees the lock, and returns the error.
//   - ctx is done: Lead returns what f returned, or the error of ctx.
//
// Where the service fails before a term, Lead stands again, for as long as ctx lasts: a
// candidate outlives each outage of the service. The pauses between attempts grow up to 5 s,
// and half of each is random. What the service said last comes with the error of ctx.
//
// To lead is to hold a lock. A leader that was paused believes that it leads while the next
// one does: only the resource can tell, by the token of the term.
func Lead(ctx context.Context, b Backend, scope string, f func(context.Context, Grant) error) error {
	var p pauses
	for {
		began, led := time.Now(), false
		err := Do(ctx, b, scope, func(ctx context.Context, g Grant) error {
			led = true
			return f(ctx, g)
		})
		if ctx.Err() != nil || led && !standsAgain(err) {
			return err
		}
		if done := p.wait(ctx, began); done != nil {
			return fmt.Errorf("lock: lead %q: %w; before that: %w", scope, done, err)
		}
	}
}

// standsAgain reports whether the error of a term lets its leader stand again.
func standsAgain(err error) bool {
	for _, end := range []error{ErrStepDown, ErrLost, ErrCutOff, fence.ErrStale} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
