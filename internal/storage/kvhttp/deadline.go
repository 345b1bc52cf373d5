package kvhttp

import (
	"errors"
	"os"
	"sync"
	"time"
)

// nextLook is after how long at the latest an operation that goes on looks at its deadline again. It is not
// longer than a request's header may take, so that the deadline of the header moves no timer.
const nextLook = 5 * time.Second

// deadline is that of one direction of a connection. Package http sets eight in each request, most of them
// later than the one before, and each would move a timer of the runtime. Here only one that comes sooner
// does. So the timer may ring before the deadline; then the operation that it ended begins again.
type deadline struct {
	move func(time.Time) error // the connection's timer
	born time.Time             // what is before has passed

	mu     sync.Mutex
	wanted time.Time // zero: none
	timer  time.Time // zero: none. Not after wanted.
	ended  bool      // by a deadline that had passed; the timer comes back with the next one
}

// set has operations end at t, also one that is under way. Zero: never.
func (d *deadline) set(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	switch {
	case !t.IsZero() && t.Before(d.born):
		d.ended = true
		return d.move(t)
	case !t.IsZero() && (d.timer.IsZero() || t.Before(d.timer)):
		d.timer = t
	case !d.ended:
		return nil
	}
	d.ended = false
	return d.move(d.timer)
}

// early: the timer ended an operation, with err, before the deadline. The operation can begin again.
func (d *deadline) early(err error) bool {
	if err == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if d.ended || !errors.Is(err, os.ErrDeadlineExceeded) || !d.wanted.IsZero() && !now.Before(d.wanted) {
		return false
	}
	d.timer = d.wanted
	if look := now.Add(nextLook); look.Before(d.wanted) {
		d.timer = look
	}
	return d.move(d.timer) == nil
}
