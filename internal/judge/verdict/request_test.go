package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestOrderWithinTenure: a client's requests are done in the order in which it
// asked, as far as it was told that they are done.
func TestOrderWithinTenure(t *testing.T) {
	for _, tt := range []judged{
		{"the first write comes late", `
			grant a by c1
			c1: write k=1 #1 (a)
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			applied #1
			final k=1`, history.Corrupted, []string{
			"c1's write k=2 at 1.000 s was acknowledged, and then undone by c1's write k=1 at 1.000 s, for which its client had asked before"}},
		{"a delete comes late", `
			grant a by c1
			c1: delete k #1 (a)
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			applied #1
			final k=`, history.Corrupted, []string{"undone by c1's delete of k"}},
		{"a write comes after the delete", `
			grant a by c1
			c1: write k=1 #1 (a)
			c1: delete k #2 (a)
			applied #2
			ok #2
			applied #1
			final k=1`, history.Corrupted, []string{"c1's delete of k at 1.000 s was acknowledged, and then undone"}},
		{"a change of several keys comes late", `
			grant a by c1
			c1: change k=1,m=1 #1 (a)
			c1: write m=2 #2 (a)
			applied #2
			ok #2
			applied #1
			final m=1`, history.Corrupted, []string{"c1's write m=2 at 1.000 s was acknowledged, and then undone by c1's write m=1"}},
		{"its retry comes late", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			unknown #1
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			c1: write k=1 #3 (a)
			applied #3
			ok #3
			final k=1`, history.Corrupted, []string{"undone by c1's write k=1"}},
		{"and the retry of the retry", `
			grant a by c1
			c1: write k=1 #1 (a)
			unknown #1
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			c1: write k=1 #3 (a)
			unknown #3
			c1: write k=1 #4 (a)
			applied #4
			ok #4
			final k=1`, history.Corrupted, []string{"undone by c1's write k=1"}},
		{"the same value once more is no retry where the outcome is known", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			c1: write k=1 #3 (a)
			applied #3
			ok #3
			final k=1`, history.Safe, nil},
		{"nor after a retry of which the outcome is known", `
			grant a by c1
			c1: write k=1 #1 (a)
			unknown #1
			c1: write k=1 #2 (a)
			applied #2
			ok #2
			c1: write k=2 #3 (a)
			applied #3
			ok #3
			c1: write k=1 #4 (a)
			applied #4
			ok #4
			final k=1`, history.Safe, nil},
		{"nor in another tenure", `
			grant a by c1
			c1: write k=1 #1 (a)
			unknown #1
			end a
			grant b by c1
			c1: write k=2 #2 (b)
			applied #2
			ok #2
			c1: write k=1 #3 (b)
			applied #3
			ok #3
			final k=1`, history.Safe, nil},
		{"nor where two clients that share a tenure write the same", `
			grant a by c1
			told c1 a
			told c2 a
			c1: write k=1 #1 (a)
			unknown #1
			c2: write k=2 #2 (a)
			applied #2
			ok #2
			c2: write k=1 #3 (a)
			applied #3
			ok #3
			final k=1`, history.Safe, nil},
		{"two clients that share a tenure have no order", `
			grant a by c1
			told c1 a
			told c2 a
			c1: write k=1 #1 (a)
			c2: write k=2 #2 (a)
			applied #2
			ok #2
			applied #1
			final k=1`, history.Corrupted, []string{"c1's write k=1 at 1.000 s was applied in the tenure that c2 works in as well"}},
		{"requests of no tenure have none", `
			c1: write k=1 #1 (-)
			c1: write k=2 #2 (-)
			applied #2
			ok #2
			applied #1
			final k=1`, history.Safe, nil},
		{"of two tenures the order of tenures counts", `
			grant a by c1
			c1: write k=1 #1 (a)
			end a
			grant b by c1
			c1: write k=2 #2 (b)
			applied #2
			ok #2
			applied #1
			final k=1`, history.Corrupted, []string{"of a later tenure"}},
		{"nor with another sequence number", `
			grant a by c1
			c1: write k=1 #1 (a) 1
			unknown #1
			c1: write k=2 #2 (a) 2
			applied #2
			ok #2
			c1: write k=1 #3 (a) 3
			applied #3
			ok #3
			final k=1`, history.Safe, nil},
		{"the later one was not acknowledged", `
			grant a by c1
			c1: write k=1 #1 (a)
			c1: write k=2 #2 (a)
			applied #2
			unknown #2
			applied #1
			final k=1`, history.Safe, nil},
		{"in order", `
			grant a by c1
			c1: write k=1 #1 (a)
			c1: write k=2 #2 (a)
			applied #1
			applied #2
			ok #1
			ok #2
			final k=2`, history.Safe, nil},
		{"another key", `
			grant a by c1
			c1: write m=1 #1 (a)
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			applied #1
			final k=2`, history.Safe, nil},
		{"a read does no harm", `
			grant a by c1
			c1: read k #1 (a)
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			applied #1
			final k=2`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

func TestAcknowledged(t *testing.T) {
	for _, tt := range []judged{
		{"a retry that the storage dropped", `
			grant a by c1
			c1: write k=1 #1 (a) 1
			applied #1
			unknown #1
			c1: write k=1 #2 (a) 1
			ok #2
			final k=1`, history.Safe, nil},
		{"without a number it cannot know", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			unknown #1
			c1: write k=1 #2 (a)
			ok #2
			final k=1`, history.Corrupted, []string{"c1's write of k was acknowledged, but the storage did not apply it"}},
		{"a retry of what was never applied", `
			grant a by c1
			c1: write m=1 #0 (a)
			applied #0
			c1: write k=1 #1 (a) 1
			unknown #1
			c1: write k=1 #2 (a) 1
			ok #2
			final k=`, history.Corrupted, []string{"was acknowledged"}},
		{"a change of several keys", `
			grant a by c1
			c1: change k=1,m=2 #1 (a)
			applied #1
			ok #1
			final k=1
			final m=2`, history.Safe, nil},
		{"a change of which a part is missing", `
			grant a by c1
			c1: change k=1,m=2 #1 (a)
			ok #1
			final k=`, history.Corrupted, []string{"c1's change of k was acknowledged", "c1's change of m was acknowledged"}},
		{"a refusal that the client takes for an ok", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			end a
			grant b by c2
			c2: write k=2 #2 (b)
			applied #2
			c1: write k=3 #3 (a)
			refused #3 stale
			ok #3
			final k=2`, history.Corrupted, []string{"c1 says that its write of k is done, but the storage refused it"}},
		{"a request that was refused and then applied", `
			grant a by c1
			end a
			grant b by c2
			c2: read k #1 (b)
			applied #1
			c1: write k=1 #2 (a)
			refused #2 stale
			applied #2
			final k=1`, history.Corrupted, []string{"c1's write k=1"}},
		{"a stale change of several keys is one wrong", `
			grant a by c1
			end a
			grant b by c2
			c2: read k #1 (b)
			applied #1
			c1: change k=1,m=2 #2 (a)
			applied #2
			final k=1`, history.Corrupted, []string{"c1's write k=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestScopePerKey: a request of no tenure comes after all that was done with its
// key under a lock, whichever scope it names.
func TestScopePerKey(t *testing.T) {
	for _, wrong := range []string{"write k=2", "change free=2,k=2"} {
		events := story(t, history.Expect{}, `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			c2: `+wrong+` #2 (-)
			applied #2
			final k=2`)
		for i, e := range events {
			if e.Key != "" {
				events[i].Scope = e.Key
			}
			if e.Request == "#2" { // a change names its first key
				events[i].Scope = "free"
			}
		}
		if v := verdict.Judge(events); v.Name != history.Corrupted || len(v.Violations) != 1 {
			t.Errorf("%s: %s %+v, want corrupted, once", wrong, v.Name, v.Violations)
		}
	}
}
