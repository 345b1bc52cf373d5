package service

import (
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// ErrRanOut is why a lock was not taken where the lease of its place in the queue
// had run out: nobody kept the client from the lock. Whether it was granted the lock
// meanwhile, the client does not know.
var ErrRanOut = fence.Lost.New("the lease ran out before the client was told of a grant")

// ErrTooFew is why a lock of several nodes was not taken. Whether another holds it, or only
// has it on a node, the client does not know.
var ErrTooFew = fmt.Errorf("too few of the nodes gave it the lock: %w", lock.ErrLocked)

// StillWaits is why an unlock fails: the client waits for the lock, as owner.
func StillWaits(scope, owner string) error {
	return fence.Definite.New(fmt.Sprintf("unlock %q: %s waits for it", scope, owner))
}

// NotIn is why a client of a service takes no lock in the tenure of another client: the
// service has no sessions that clients could share.
func NotIn(service, tenure string) error {
	return fence.Definite.New(fmt.Sprintf("%s: a client cannot take a lock in the tenure %q of another", service, tenure))
}
