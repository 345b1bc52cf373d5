package originaltest

import (
	"slices"
	"time"
)

// handingOver is about the time from the end of an unlock to the grant of who waits.
func (s *story) handingOver() {
	fact := ""
	switch {
	case s.cannotWait:
		fact = "–"
	case s.of.Asks:
		fact = "the library does not wait"
	default:
		fact = s.handOverWithin(s.handsOver)
	}
	s.say("hand-over", fact)
}

// handOverWithin is within what time a lock is handed over. A waiter that asks again and again does so after a pause.
func (s *story) handOverWithin(part func() (took time.Duration)) string {
	s.Helper()
	const soon = 300 * time.Millisecond
	name := "at once"
	if s.asks {
		name = "within 0.3 s"
	}
	return s.within(fastest(soon, part), "a hand-over", bound{soon, name}, bound{time.Second, "within 1 s"}, bound{ttl, "within the TTL"})
}

// handsOver is how long a hand-over takes: the median.
func (s *story) handsOver() time.Duration {
	took := make([]time.Duration, 5)
	for i := range took {
		took[i] = s.handOver()
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// handOver is one. A waiter that asks again and again has just asked in vain: it waits for its whole pause. Another one has
// asked all that it asks before it waits.
func (s *story) handOver() (took time.Duration) {
	again := 10
	if s.asks {
		again = 3
	}
	s.inTime(func() time.Time {
		held, _ := s.one.have("/handed-over")
		waiter := s.two.tenure("/handed-over")
		before := s.two.requests()
		answered := waiter.takes(s.Context(), patience)
		_, over := s.settle(before, answered, again, ttl/10)
		needed := time.Now()
		held.unlock()
		began := time.Now()
		said := over
		if over.Values == nil {
			said = <-answered
		}
		took = time.Since(began)
		if said.granted() {
			waiter.unlock()
		}
		if over.Values != nil || !said.granted() { // the holder's lease was over before, or the waiter's patience
			took = patience
		}
		return needed
	})
	return took
}
