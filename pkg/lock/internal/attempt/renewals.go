package attempt

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Renewals tells those who hold a lease how its renewals go. The zero value is ready to use.
type Renewals struct {
	mu  sync.Mutex
	all []listener
}

type listener struct {
	over func() error // not nil: it hears nothing any more
	hear func(took time.Duration, err error)
}

// Listen has f called after each renewal from now on, for as long as life lasts.
func (r *Renewals) Listen(life context.Context, f func(took time.Duration, err error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == cap(r.all) { // those that are over are left out, and there is room for as many again
		r.all = slices.DeleteFunc(r.all, func(one listener) bool { return one.over() != nil })
		r.all = slices.Grow(r.all, len(r.all))
	}
	r.all = append(r.all, listener{life.Err, f})
}

// Tell tells how a renewal went, and how long its answer took.
func (r *Renewals) Tell(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		if one.over() == nil {
			one.hear(took, err)
		}
	}
}

// Ask asks for a renewal of the lock of a scope, by a package of that name, and tells how
// that went. Where the lock is not held any more, that is no renewal.
func (r *Renewals) Ask(pkg, scope string, renew func() (held bool, err error)) (held bool, err error) {
	asked := time.Now()
	held, err = renew()
	if err != nil {
		err = fmt.Errorf("%s: renew %q: %w", pkg, scope, err)
	}
	if held || err != nil {
		r.Tell(time.Since(asked), err)
	}
	return held, err
}
