package history

import (
	"fmt"
	"time"
)

// Bounds of what a program says of what happens in a run.
const (
	maxSaid  = 64 << 20    // bytes, in all
	maxAhead = time.Second // by which its clock may be ahead of that of the reader
)

// Said is how much a program has said, and of which time it spoke last. The zero value is
// that of one that has said nothing.
type Said struct {
	bytes int
	last  time.Duration
}

// Line refuses a line that is too much.
func (s *Said) Line(line []byte) error {
	if s.bytes += len(line); s.bytes > maxSaid {
		return fmt.Errorf("it has said more than %d bytes", maxSaid)
	}
	return nil
}

// Time refuses a time, since 1970, that does not follow from the one before on the machine's
// clock. The program was started when it began.
func (s *Said) Time(at time.Duration, began time.Time) error {
	last := s.last
	s.last = at
	switch {
	case at < time.Duration(began.UnixNano()):
		return fmt.Errorf("its at is %d, before it was started: want nanoseconds since 1970", at)
	case at > time.Duration(time.Now().Add(maxAhead).UnixNano()):
		return fmt.Errorf("its at is %d, which is yet to come: want nanoseconds since 1970, by this machine's clock", at)
	case at < last:
		return fmt.Errorf("its at is %d, and that of the event before is %d: want one that is not lower", at, last)
	}
	return nil
}
