package lock

import (
	"errors"
	"fmt"
)

// Both are definite. Test for them with errors.Is.
var (
	// ErrLocked: another tenure of the scope is current; nothing was granted.
	ErrLocked = errors.New("lock: locked by another tenure")
	// ErrLost: the tenure is over; nothing was freed.
	ErrLost = errors.New("lock: tenure is over")
)

// UnknownError is an indefinite outcome: the request may have been carried out,
// may not have been, or may still be.
type UnknownError struct {
	Op    string // "lock", "trylock" or "unlock"
	Scope string
	Err   error // why the outcome is unknown
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("lock: %s %q: outcome unknown: %v", e.Op, e.Scope, e.Err)
}

// Unwrap returns Err.
func (e *UnknownError) Unwrap() error { return e.Err }
