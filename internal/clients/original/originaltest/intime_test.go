package originaltest

import (
	"slices"
	"testing"
	"time"
)

// TestInTime: what was told after the end of a lease is forgotten, and told again; what was told before it stays.
func TestInTime(t *testing.T) {
	s := &story{T: t}
	s.say("before", "yes")
	late := []bool{true, true, false}
	s.inTime(func() time.Time {
		slow := late[0]
		late = late[1:]
		if slow {
			s.say("refused", "no")
			return time.Now().Add(ttl)
		}
		s.say("refused", "yes")
		return time.Now()
	})
	if want := [][2]string{{"before", "yes"}, {"refused", "yes"}}; !slices.Equal(s.facts, want) || len(late) > 0 {
		t.Errorf("the story says %q, and %d more parts were to be told, want %q", s.facts, len(late), want)
	}
}
