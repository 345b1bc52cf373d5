package attempt

import (
	"math/rand/v2"
	"time"
)

// Poll says how long a waiter pauses between two looks at a lock. Who has begun to wait looks
// often, as many locks are held briefly. Who has waited for long looks once in Every.
type Poll struct {
	Every time.Duration

	looks int
}

// quick is how many pauses are shorter than Every. The first one is the shortest, and each one
// is twice as long as the one before.
const quick = 4

// Pause is random, so that those who wait do not ask together for ever: from a half to one and
// a half of what it is on average.
func (p *Poll) Pause() time.Duration {
	mean := max(p.Every>>(quick-p.looks), time.Millisecond)
	p.looks = min(p.looks+1, quick)
	return mean/2 + rand.N(mean)
}
