package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

const whole = `
	grant a by c1
	c1: change k=1,m=1,n=1 #1 (a)
	applied #1
	ok #1
	end a
	grant b by c2`

func TestTogether(t *testing.T) {
	for _, tt := range []judged{
		{"never written", `
			final k=
			final m=
			final n=`, history.Safe, nil},
		{"written as one", whole + `
			c2: read k #2 (b)
			applied #2
			c2: change k=2,m=2,n=2 #3 (b)
			applied #3
			final k=2
			final m=2
			final n=2`, history.Safe, nil},
		{"one after the other, all of them", whole + `
			c2: write k=2 #2 (b)
			applied #2
			c2: read m #3 (b)
			applied #3
			c2: write m=2 #4 (b)
			applied #4
			c2: write n=2 #5 (b)
			applied #5
			final n=2`, history.Safe, nil},
		{"half a change at the end", whole + `
			c2: write k=2 #2 (b)
			applied #2
			final k=2
			final m=1
			final n=1`, history.Corrupted, []string{"c2's write k=2 at 1.000 s is half of a change: k, m, n belong together, and so they are at the end"}},
		{"half of the first change", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			final k=1
			final m=`, history.Corrupted, []string{"c1's write k=1"}},
		{"half a delete", whole + `
			c2: delete n #2 (b)
			applied #2
			final n=`, history.Corrupted, []string{"c2's delete of n"}},
		{"the next holder finds it, and completes it", whole + `
			c2: write k=2 #2 (b)
			applied #2
			end b
			grant c by c3
			c3: read m #3 (c)
			applied #3
			c3: change k=3,m=3,n=3 #4 (c)
			applied #4
			final k=3`, history.Corrupted, []string{"c2's write k=2 at 1.000 s is half of a change: k, m, n belong together, and c3's read of m at 1.000 s finds them so"}},
		{"who reads without the lock must be prepared for it", whole + `
			c2: write k=2 #2 (b)
			applied #2
			c3: read m #3 (-)
			applied #3
			c1: read m #4 (a)
			applied #4
			c2: write m=2 #5 (b)
			applied #5
			c2: write n=2 #6 (b)
			applied #6
			final k=2`, history.Safe, nil},
		{"other keys", whole + `
			c2: write x=2 #2 (b)
			applied #2
			final x=2
			final k=1`, history.Safe, nil},
		{"half a change by nobody who held the lock", `
			c1: write k=1 #1 (-)
			applied #1
			grant a by c2
			c2: read k #2 (a)
			applied #2`, history.Corrupted, []string{"c2's read of k at 1.000 s finds them so"}},
		{"two halves by two who held no lock", `
			c1: write k=1 #1 (-)
			applied #1
			c1: write m=1 #2 (-)
			applied #2
			c2: write n=2 #3 (-)
			applied #3
			final n=2`, history.Corrupted, []string{"c2's write n=2"}},
		{"without a lock", whole + `
			c3: write k=2 #2 (-)
			applied #2
			final k=2`, history.Corrupted, []string{"was applied without the lock", "c3's write k=2 at 1.000 s is half of a change"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, []string{"k", "m", "n"}) })
	}
}

// TestTornNamesItsEvents: the write that is half, and the read that sees it.
func TestTornNamesItsEvents(t *testing.T) {
	events := story(t, history.Expect{}, `
		grant a by c1
		c1: write k=1 #1 (a)
		applied #1
		end a
		grant b by c2
		c2: read k #2 (b)
		applied #2`)
	events[0].Run.Together = [][]string{{"k", "m"}}
	v := verdict.Judge(events)
	if len(v.Violations) != 1 || v.Violations[0].Before != 3 || v.Violations[0].Event != 7 {
		t.Errorf("got %+v, want the applied write and read, events 3 and 7", v.Violations)
	}
}

// TestTornByLock: tenures of two locks have no order.
func TestTornByLock(t *testing.T) {
	events := story(t, history.Expect{}, `
		grant a by c1
		c1: write k=1 #1 (a)
		applied #1
		grant x by c3
		grant b by c2
		c2: read k #2 (b)
		applied #2`)
	events[0].Run.Together = [][]string{{"k", "m"}}
	events[4].Scope, events[5].Scope = "/other", "/other"
	if v := verdict.Judge(events); v.Name != history.Safe {
		t.Errorf("%s %+v, want safe", v.Name, v.Violations)
	}
}
