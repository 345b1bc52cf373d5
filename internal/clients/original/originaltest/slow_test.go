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

// TestFastest: what took too long is told again, and its fastest time counts. Who takes so long each time is said to do so.
func TestFastest(t *testing.T) {
	const fast, slow, slower = 10 * time.Millisecond, 2 * time.Second, 9 * time.Second
	for _, test := range []struct {
		takes []time.Duration
		told  string
		times int // for which it is told
	}{
		{[]time.Duration{fast, slow, slow}, "within a third of the TTL", 1},
		{[]time.Duration{slower, slow, fast}, "within a third of the TTL", 3},
		{[]time.Duration{slow, slow, slow}, "within the TTL", 3},
		{[]time.Duration{slower, slow, slower}, "within the TTL", 3},
	} {
		times := 0
		told := (&story{T: t}).toldWithin(func() (bool, time.Duration) { times++; return true, test.takes[times-1] })
		if told != test.told || times != test.times {
			t.Errorf("%v: %q after %d times, want %q after %d", test.takes, told, times, test.told, test.times)
		}
	}
	if told := (&story{T: t}).toldWithin(func() (bool, time.Duration) { return false, fast }); told != byNobody {
		t.Errorf("who is told nothing is told %q", told)
	}
}
