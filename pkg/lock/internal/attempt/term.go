package attempt

import (
	"context"
	"sync"
	"time"
)

// Term is how long a fixed lease lasts, as its holder knows. Extensions take turns.
type Term struct {
	// Over calls what ends the tenure when the lease is over.
	Over *time.Timer

	turns turns // of extensions

	mu    sync.Mutex
	asked time.Time // when the last extension was sent that was noted
	until time.Time
}

// NewTerm begins a lease that surely lasts until then, and calls over at its end.
func NewTerm(until time.Time, over func()) *Term {
	return &Term{Over: time.AfterFunc(time.Until(until), over), turns: newTurns(), until: until}
}

// Until is when the lease ends.
func (t *Term) Until() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

// Turn returns when no other extension is under way. The next one waits until done is called.
func (t *Term) Turn(ctx context.Context) (done func(), err error) { return t.turns.take(ctx) }

// Extended notes that the lease lasts d from when it was asked for. It reports whether the
// lease had not ended before.
func (t *Term) Extended(asked time.Time, d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if asked.Before(t.asked) { // a later one was noted meanwhile
		return true
	}
	t.asked = asked
	return t.set(asked.Add(d))
}

// Doubtful notes that the lease may last d from when it was asked for, or as long as before.
func (t *Term) Doubtful(asked time.Time, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := asked.Add(d); until.Before(t.until) {
		t.set(until)
	}
}

// set moves the end of a lease that has not ended.
func (t *Term) set(until time.Time) bool {
	if !t.Over.Stop() {
		return false
	}
	t.until = until
	t.Over.Reset(time.Until(until))
	return true
}
