package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestReadersAndWriters: what shares a lock comes too late only after what does not.
func TestReadersAndWriters(t *testing.T) {
	for _, tt := range []judged{
		{"two readers, in any order", `
			share a by c1 1
			share b by c2 2
			c2: read k #1 (b)
			applied #1
			c1: read k #2 (a)
			applied #2
			final k=`, history.Safe, nil},
		{"two who share may both write", `
			share a by c1 1
			share b by c2 2
			c2: write k=2 #1 (b)
			applied #1
			c1: write k=1 #2 (a)
			applied #2
			final k=1`, history.Safe, nil},
		{"who shares writes what follows from a read, and another one who shares has written since", `
			share a by c1 1
			share b by c2 2
			c1: read k #1 (a)
			applied #1
			c2: write m=2 #2 (b)
			applied #2
			c1: write k=1 #3 (a)
			applied #3
			final k=1`, history.Corrupted, []string{"c1's write k=1 at 1.000 s was applied after c2's write m=2 at 1.000 s, of which its client knew nothing"}},
		{"the same, and it reads only after that", `
			share a by c1 1
			share b by c2 2
			c2: write k=2 #1 (b)
			applied #1
			c1: read k #2 (a)
			applied #2
			c1: write k=1 #3 (a)
			applied #3
			final k=1`, history.Safe, nil},
		{"the same under two locks", `
			share a by c1 1
			share b by c2 2 of /other
			c1: read k #1 (a)
			applied #1
			c2: write m=2 #2 (b) of /other
			applied #2 of /other
			c1: write k=1 #3 (a)
			applied #3
			final k=1`, history.Safe, nil},
		{"a reader after a later writer's change", `
			share a by c1 1
			end a expired
			grant b by c2 2
			c2: write k=2 #1 (b)
			applied #1
			c1: read m #2 (a)
			applied #2
			c1: read k #3 (a)
			applied #3
			final k=2`, history.Corrupted, []string{
			"c1's read of m at 1.000 s was applied after c2's write k=2 at 1.000 s of a later tenure", "c1's read of k"}},
		{"a reader after a later writer's read", `
			share a by c1 1
			end a expired
			grant b by c2 2
			c2: read k #1 (b)
			applied #1
			c1: read k #2 (a)
			applied #2
			final k=`, history.Safe, nil},
		{"who has the lock alone and only reads too late", `
			grant a by c1 1
			end a expired
			grant b by c2 2
			c2: write k=2 #1 (b)
			applied #1
			c1: read k #2 (a)
			applied #2
			final k=2`, history.Safe, nil},
		{"a reader after a later writer's change, and a reader's after that", `
			share a by c1 1
			end a expired
			grant b by c2 2
			c2: write k=2 #1 (b)
			applied #1
			end b
			share d by c3 3
			c3: read k #2 (d)
			applied #2
			c1: read k #3 (a)
			applied #3
			final k=2`, history.Corrupted, []string{"c1's read of k at 1.000 s was applied after c2's write k=2"}},
		{"a writer after a later reader", `
			grant a by c1 1
			end a expired
			share b by c2 2
			c2: read k #1 (b)
			applied #1
			c1: write k=1 #2 (a)
			applied #2
			final k=1`, history.Corrupted, []string{"c1's write k=1 at 1.000 s was applied after c2's read of k at 1.000 s of a later tenure"}},
		{"who shares writes after a later writer's read", `
			share a by c1 1
			end a expired
			grant b by c2 2
			c2: read k #1 (b)
			applied #1
			c1: write k=1 #2 (a)
			applied #2
			final k=1`, history.Corrupted, []string{"c1's write k=1"}},
		{"a reader is refused, because another one came after it", `
			share a by c1 1
			share b by c2 2
			c2: read k #1 (b)
			applied #1
			c1: read k #2 (a)
			refused #2 stale 1 2
			final k=`, history.Blocked, []string{"c1's read of k at 1.000 s was refused (stale), but its client held the lock"}},
		{"a reader is refused, because a writer has the lock", `
			share a by c1 1
			grant b by c2 2
			c1: read k #2 (a)
			refused #2 stale 1 2
			final k=`, history.Safe, nil},
		{"also where it is a reader's again", `
			share a by c1 1
			grant b by c2 2
			share d by c3 3
			c1: read k #2 (a)
			refused #2 stale 1 2
			c3: read k #3 (d)
			refused #3 stale 3 4
			final k=`, history.Blocked, []string{"c3's read of k"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestHalfAChangeOfOneWhoShares: nobody is promised that others who share a lock
// change nothing.
func TestHalfAChangeOfOneWhoShares(t *testing.T) {
	tell := func(first string) string {
		return first + ` a by c1 1
			c1: change k=1,m=1 #1 (a)
			half #1
			share b by c2 2
			c2: read k #2 (b)
			applied #2 k=1
			c1: write m=1 #3 (a)
			applied #3
			c1: write k=1 #4 (a)
			applied #4
			final k=1
			final m=1`
	}
	judged{"", tell("share"), history.Safe, nil}.test(t, []string{"k", "m"})
}

func TestExclusiveKnowsModes(t *testing.T) {
	for story, want := range map[string]bool{
		"share a by c1 1\nshare b by c2 2":                                true,
		"share a by c1 1\nshare b by c2 2\ngrant d by c3 3":               false,
		"grant a by c1 1\nshare b by c2 2":                                false,
		"share a by c1 1\nend a\nshare b by c2 2\nend b\ngrant d by c3 3": true,
	} {
		if v := verdict.Judge(storyOf(t, story)); v.Exclusive != want || len(v.Overlaps) == 0 != want {
			t.Errorf("%q: exclusive %v, overlaps %v, want %v", story, v.Exclusive, v.Overlaps, want)
		}
	}
}

func storyOf(t *testing.T, text string) []history.Event {
	return story(t, history.Expect{Verdict: history.Safe}, text)
}
