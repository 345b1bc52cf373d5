package originaltest

import "time"

// A machine with much to do makes what a client does slower, and never faster. So what took too long is told again, so often
// at most.
const (
	mostInTime  = 5
	mostFastest = 3
)

// inTime tells a part of the story that needs the holder's lease. part takes the lock, and returns when it needs the lease no
// more. If the lease was over before, the part is told again. A library whose waiter measures the lease renews it, and takes
// longer in any case: the part is told once.
func (s *story) inTime(part func() (needed time.Time)) {
	before := len(s.facts)
	for range mostInTime {
		s.facts = s.facts[:before]
		if began := time.Now(); part().Sub(began) < ttl || s.of.Measures {
			return
		}
	}
}

// fastest tells a part of the story, and returns for how long a library takes. What took longer than enough is told again, and
// is the library's only if it does so each time.
func fastest(enough time.Duration, part func() (took time.Duration)) time.Duration {
	best := part()
	for n := 1; n < mostFastest && best > enough; n++ {
		best = min(best, part())
	}
	return best
}

// bound is one for a time, and its name.
type bound struct {
	most time.Duration
	name string
}

// within is the name of the first bound that is kept. Where none is, the story fails.
func (s *story) within(took time.Duration, what string, bounds ...bound) string {
	s.Helper()
	for _, b := range bounds {
		if took <= b.most {
			return b.name
		}
	}
	s.Errorf("%s takes %v, and no more than %v was expected", what, took, bounds[len(bounds)-1].most)
	return ""
}
