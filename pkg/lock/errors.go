package lock

import (
	"cmp"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Test for them with errors.Is; fence.OutcomeOf says what is known by them.
var (
	// ErrLocked: another tenure of the scope is current; nothing was granted.
	ErrLocked = fence.Definite.New("lock: locked by another tenure")
	// ErrLost: the tenure is over, by the lock service's account; nothing was
	// freed.
	ErrLost = fence.Lost.New("lock: tenure is over")
	// ErrCutOff: the lock service was not heard of for so long that the tenure may
	// be over, or a fixed lease ran out by the holder's clock. Nobody on this side
	// knows.
	ErrCutOff = fence.CutOff.New("lock: cut off from the lock service, tenure unknown")
)

// UnknownError is an indefinite outcome: the request may have been carried out,
// may not have been, or may still be.
type UnknownError struct {
	Op    string // "lock", "trylock", "rlock", "tryrlock", "extend" or "unlock"
	Scope string
	Err   error // why the outcome is unknown
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("lock: %s %q: outcome unknown: %v", e.Op, e.Scope, e.Err)
}

// Outcome returns fence.Unknown.
func (e *UnknownError) Outcome() fence.Outcome { return fence.Unknown }

// Unwrap returns Err.
func (e *UnknownError) Unwrap() error { return e.Err }

// join is errors.Join for two, in one line of a log.
func join(first, second error) error {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	return fmt.Errorf("%w; %w", first, second)
}
