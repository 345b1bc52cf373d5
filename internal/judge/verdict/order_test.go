package verdict_test

import (
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// indexed gives the storage's events their places in its order.
func indexed(events []history.Event, index ...int64) []history.Event {
	for i, e := range events {
		if e.Kind == history.KindApplied || e.Kind == history.KindRefused {
			events[i].Index, index = index[0], index[1:]
		}
	}
	return events
}

// TestClockThatStepsBack: the storage's own order counts, not that of the times.
func TestClockThatStepsBack(t *testing.T) {
	const text = `
		grant a by c1
		c1: write k=1 #1 (a)
		end a
		grant b by c2
		c2: write k=2 #2 (b)
		applied #2
		applied #1
		final k=2`
	v := verdict.Judge(indexed(story(t, history.Expect{}, text), 2, 1))
	if v.Name != history.Safe {
		t.Errorf("%s %+v, want safe: the write of the earlier tenure came first", v.Name, v.Violations)
	}
	v = verdict.Judge(indexed(story(t, history.Expect{}, text), 1, 2))
	if v.Name != history.Corrupted {
		t.Errorf("%s, want corrupted", v.Name)
	}
}

// TestLives: a storage that was started again counts from 1 again.
func TestLives(t *testing.T) {
	events := indexed(story(t, history.Expect{}, `
		grant a by c1
		c1: write k=0 #0 (a)
		applied #0
		c1: write k=1 #1 (a)
		applied #1
		restart
		end a
		grant b by c2
		c2: write k=2 #2 (b)
		applied #2
		final k=2`), 1, 2, 1)
	if v := verdict.Judge(events); v.Name != history.Safe {
		t.Errorf("%s %+v, want safe", v.Name, v.Violations)
	}
	killed := slices.Clone(events)
	killed[6].Kind = history.KindKill
	if v := verdict.Judge(killed); v.Name != history.Safe {
		t.Errorf("%s %+v, want safe", v.Name, v.Violations)
	}
	one := slices.Clone(events)
	one[6].Lane = "c1" // a client was started again, not the storage
	if v := verdict.Judge(one); v.Name != history.Corrupted {
		t.Errorf("%s, want corrupted: within one life the third write was the first", v.Name)
	}
}

// TestLostWithALife: a storage that is killed may lose what it told nobody of.
func TestLostWithALife(t *testing.T) {
	for _, tt := range []judged{
		{"nobody was told", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			unknown #1
			restart
			c1: read k #2 (a)
			applied #2 k=
			final k=`, history.Safe, nil},
		{"what was there before is there again", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c1: write k=2 #2 (a)
			applied #2
			c1: delete k #3 (a)
			applied #3
			restart
			final k=1`, history.Safe, nil},
		{"not even that is", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c1: write k=2 #2 (a)
			applied #2
			restart
			final k=`, history.Corrupted, []string{"c1's write k=1 at 1.000 s is lost: afterwards k has no value"}},
		{"somebody read it", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			c2: read k #2 (-)
			applied #2
			restart
			final k=`, history.Corrupted, []string{"c1's write k=1 at 1.000 s is lost"}},
		{"its retry was acknowledged", `
			grant a by c1
			c1: write k=1 #1 (a) 1
			applied #1
			unknown #1
			c1: write k=1 #2 (a) 1
			ok #2
			restart
			final k=`, history.Corrupted, []string{"c1's write k=1 at 1.000 s is lost"}},
		{"the storage was not killed", `
			grant a by c1
			restart
			c1: write k=1 #1 (a)
			applied #1
			unknown #1
			final k=`, history.Corrupted, []string{"c1's write k=1 at 1.000 s is lost"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestLateInvoke: it does not matter where in the history a client's word comes.
func TestLateInvoke(t *testing.T) {
	events := story(t, history.Expect{}, `
		grant a by c1
		end a
		grant b by c2
		c2: write k=2 #1 (b)
		applied #1
		final k=2`)
	events[4], events[5] = events[5], events[4]
	if v := verdict.Judge(events); v.Name != history.Safe {
		t.Errorf("%s %+v, want safe", v.Name, v.Violations)
	}
	events = story(t, history.Expect{}, `
		grant a by c1
		c1: write k=1 #1 (a)
		applied #1
		end a
		grant b by c2
		c2: write k=2 #2 (b)
		applied #2
		c1: write m=3 #3 (a)
		applied #3
		final k=2`)
	events[8], events[9] = events[9], events[8]
	if v := verdict.Judge(events); len(v.Violations) != 1 || v.Violations[0].Event != 8 {
		t.Errorf("%+v, want one, of event 8", v.Violations)
	}
	events = story(t, history.Expect{}, `
		grant a by c1
		c1: write k=1 #1 (a)
		c1: write k=2 #2 (a)
		ok #2
		applied #2
		applied #1
		final k=1`)
	events[3], events[4] = events[4], events[3]
	if v := verdict.Judge(events); v.Name != history.Corrupted {
		t.Errorf("%s, want corrupted: the later write was acknowledged", v.Name)
	}
}

func TestCounts(t *testing.T) {
	v := verdict.Judge(story(t, history.Expect{}, `
		grant a by c1
		end a
		c1: write k=1 #1 (a)
		refused #1 stale
		c1: change k=1,m=1 #2 (a)
		refused #2 stale
		c1: read k #3 (a)
		refused #3 ahead
		c1: write k=1 #4 (-)
		refused #4 missing 0`))
	if v.Stale != 2 || v.Refused != 4 {
		t.Errorf("%d stale of %d refused, want 2 of 4", v.Stale, v.Refused)
	}
}

func TestOrdered(t *testing.T) {
	for _, tt := range []struct {
		name, story string
		want        bool
	}{
		{"nothing granted", `final k=`, true},
		{"growing", `
			grant a by c1
			told c1 a 5
			grant b by c2
			told c2 b 9`, true},
		{"falling", `
			grant a by c1
			told c1 a 9
			grant b by c2
			told c2 b 5`, false},
		{"falling, then growing", `
			grant a by c1
			told c1 a 9
			grant b by c2
			told c2 b 5
			grant c by c1
			told c1 c 7`, false},
		{"the same twice", `
			grant a by c1
			told c1 a 5
			grant b by c2
			told c2 b 5`, false},
		{"told in another order", `
			grant a by c1
			grant b by c2
			told c2 b 9
			told c1 a 5`, true},
		{"two in one tenure", `
			grant a by c1
			told c1 a 5
			told c2 a 5`, true},
		{"one that nobody was told of", `
			grant a by c1 5
			grant b by c2
			told c2 b 3`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if v := verdict.Judge(story(t, history.Expect{}, tt.story)); v.Ordered != tt.want {
				t.Errorf("ordered: %v, want %v", v.Ordered, tt.want)
			}
		})
	}
}

// TestOrderedByLock: tokens of two locks are not comparable.
func TestOrderedByLock(t *testing.T) {
	events := story(t, history.Expect{}, `
		grant a by c1
		told c1 a 9
		grant b by c2
		told c2 b 5`)
	events[3].Scope = "/other"
	if v := verdict.Judge(events); !v.Ordered {
		t.Error("not ordered, but they are of two locks")
	}
}
