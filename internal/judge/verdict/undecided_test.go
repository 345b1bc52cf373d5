package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestUndecided: what is certain is said, and nothing is safe where a request had no answer.
func TestUndecided(t *testing.T) {
	const begun = `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c1: write k=2 #2 (a)
			unanswered #2
			unknown #2`
	for _, tt := range []judged{
		{"it may have been done", begun + "\nfinal k=2", history.Undecided, nil},
		{"or not", begun + "\nfinal k=1", history.Undecided, nil},
		{"what the key holds is not judged, as it may be done yet", begun + "\nfinal k=3", history.Undecided, nil},
		{"a read without an answer", `
			grant a by c1
			c1: read k #1 (a)
			unanswered #1
			unknown #1
			final k=`, history.Undecided, nil},
		{"another key is judged", begun + "\nfinal m=1", history.Corrupted, []string{`m holds "1", and nobody wrote that`}},
		{"a stale write is certain", begun + `
			end a
			grant b by c2
			c2: write m=1 #3 (b)
			applied #3
			c1: write m=2 #4 (a)
			applied #4
			final m=2`, history.Corrupted, []string{"c1's write m=2 at 1.000 s was applied after c2's write m=1 at 1.000 s of a later tenure"}},
		{"a refusal of the holder is certain", begun + `
			c1: write m=1 #3 (a)
			refused #3 stale 1 2
			final m=`, history.Blocked, []string{"was refused (stale), but its client held the lock"}},
		{"but for one with a lower sequence", `
			grant a by c1
			c1: write k=2 #2 (a) 2
			unanswered #2
			c1: write m=1 #1 (a) 1
			refused #1 stale 5 5`, history.Undecided, nil},
		{"no lock guards a key, perhaps", begun + `
			grant b by c2 of /other
			c2: write k=3 #3 (b) of /other
			applied #3`, history.Undecided, nil},
		{"a change of several keys", `
			grant a by c1
			c1: change k=1,m=1 #1 (a)
			unanswered #1
			final k=1
			final m=`, history.Undecided, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, []string{"k", "m"}) })
	}
}

// TestUndecidedIsNeverExpected: it says which request had no answer.
func TestUndecidedIsNeverExpected(t *testing.T) {
	v := verdict.Judge(story(t, history.Expect{}, `
		grant a by c1
		c1: write k=2 #2 (a)
		unanswered #2`))
	want := "the verdict is undecided, expected safe: c1's write k=2 at 1.000 s had no answer"
	if len(v.Mismatches) != 1 || v.Mismatches[0] != want {
		t.Errorf("%q, want %q", v.Mismatches, want)
	}
}
