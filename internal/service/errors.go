package service

import "errors"

// ErrRanOut is why a lock was not taken where the lease of its place in the queue
// had run out: nobody kept the client from the lock. Whether it was granted the lock
// meanwhile, the client does not know.
var ErrRanOut = errors.New("the lease ran out before the client was told of a grant")
