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
		takes           []time.Duration
		told            string
		asked, notified string
		times           int // for which it is told
	}{
		{[]time.Duration{fast, slow, slow}, "within a third of the TTL", "within 0.3 s", "at once", 1},
		{[]time.Duration{slower, slow, fast}, "within a third of the TTL", "within 0.3 s", "at once", 3},
		{[]time.Duration{slow, slow, slow}, "within the TTL", "within the TTL", "within the TTL", 3},
		{[]time.Duration{slower, slow, slower}, "within the TTL", "within the TTL", "within the TTL", 3},
		{[]time.Duration{time.Second, slow, slow}, "within a third of the TTL", "within 1 s", "within 1 s", 3},
	} {
		times := 0
		take := func() time.Duration { times++; return test.takes[times-1] }
		asked := (&story{T: t, asks: true}).handOverWithin(take)
		if told := times; told != test.times {
			t.Errorf("%v: the hand-over is told %d times, want %d", test.takes, told, test.times)
		}
		times = 0
		notified := (&story{T: t}).handOverWithin(take)
		times = 0
		told := (&story{T: t}).toldWithin(func() (bool, time.Duration) { return true, take() })
		if asked != test.asked || notified != test.notified || told != test.told {
			t.Errorf("%v: %q, %q and %q; want %q, %q and %q", test.takes, asked, notified, told, test.asked, test.notified, test.told)
		}
	}
	if told := (&story{T: t}).toldWithin(func() (bool, time.Duration) { return false, fast }); told != byNobody {
		t.Errorf("who is told nothing is told %q", told)
	}
}
