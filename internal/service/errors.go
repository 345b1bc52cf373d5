package service

import (
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/lock"
)

// ErrRanOut is why a lock was not taken where the lease of its place in the queue
// had run out: nobody kept the client from the lock. Whether it was granted the lock
// meanwhile, the client does not know.
var ErrRanOut = errors.New("the lease ran out before the client was told of a grant")

// ErrTooFew is why a lock of several nodes was not taken. Whether another holds it, or only
// has it on a node, the client does not know.
var ErrTooFew = fmt.Errorf("too few of the nodes gave it the lock: %w", lock.ErrLocked)
