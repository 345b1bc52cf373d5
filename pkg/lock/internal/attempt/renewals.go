package attempt

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Renewals tells those who hold a lease how its renewals go. The zero value is ready to use.
type Renewals struct {
	mu     sync.Mutex
	listen map[*listener]struct{}
}

type listener struct {
	hear func(took time.Duration, err error)
}

// Listen has f called after each renewal from now on, for as long as life lasts.
func (r *Renewals) Listen(life context.Context, f func(took time.Duration, err error)) {
	one := &listener{func(took time.Duration, err error) {
		if life.Err() == nil {
			f(took, err)
		}
	}}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listen == nil {
		r.listen = make(map[*listener]struct{})
	}
	r.listen[one] = struct{}{}
	context.AfterFunc(life, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.listen, one)
	})
}

// Tell tells how a renewal went, and how long its answer took.
func (r *Renewals) Tell(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.listen {
		one.hear(took, err)
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
