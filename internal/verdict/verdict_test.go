package verdict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/verdict"
)

// story is a hand-written history: a line an event, in short.
//
//	grant T by C      tenure T of client C begins
//	end T             it ends
//	C: write k=v #r (T)   client C sends request r under tenure T ("-": none)
//	C: read k #r (T)
//	applied #r        the storage does it; a read finds what was written last,
//	applied #r k=v    or what is said here ("k=" with nothing: no value)
//	refused #r why    it refuses it
//	ok #r, fail #r    the client is told
//	nolock C          client C's lock command fails
//	final k=v         at the end
func story(t *testing.T, expect history.Expect, text string) []history.Event {
	t.Helper()
	events := []history.Event{{Kind: history.KindRun, Lane: history.LaneLab, Run: &history.Run{Expect: expect}}}
	asked := make(map[string]history.Event)
	data := make(map[string]string)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		e := history.Event{At: 1000 * 1000 * 1000, Scope: "/lock"}
		word := strings.Fields(line)
		switch {
		case word[0] == "grant":
			e.Lane, e.Kind, e.Tenure, e.Client = history.LaneEtcd, history.KindGranted, word[1], word[3]
		case word[0] == "end":
			e.Lane, e.Kind, e.Tenure = history.LaneEtcd, history.KindEnded, word[1]
		case word[0] == "applied" || word[0] == "refused":
			a := asked[word[1]]
			e = a
			e.Lane, e.Kind, e.Tenure, e.Client = history.LaneStorage, history.KindApplied, "", ""
			switch {
			case word[0] == "refused":
				e.Kind, e.Reason = history.KindRefused, word[2]
			case a.Op == history.OpWrite:
				data[a.Key] = a.Value
			case len(word) == 3:
				_, e.Value, _ = strings.Cut(word[2], "=")
				e.Missing = e.Value == ""
			default:
				e.Value = data[a.Key]
				e.Missing = e.Value == ""
			}
		case word[0] == "ok":
			e = asked[word[1]]
			e.Kind = history.KindOK
		case word[0] == "fail":
			e = asked[word[1]]
			e.Kind = history.KindFail
		case word[0] == "nolock":
			e.Lane, e.Client, e.Kind, e.Op = word[1], word[1], history.KindFail, history.OpLock
		case word[0] == "final":
			e.Lane, e.Kind = history.LaneStorage, history.KindFinal
			e.Key, e.Value, _ = strings.Cut(word[1], "=")
			e.Missing = e.Value == ""
		default:
			e.Lane = strings.TrimSuffix(word[0], ":")
			e.Client, e.Kind, e.Op, e.Request = e.Lane, history.KindInvoke, word[1], word[3]
			e.Key, e.Value, _ = strings.Cut(word[2], "=")
			if e.Tenure = strings.Trim(word[4], "()"); e.Tenure == "-" {
				e.Tenure = ""
			}
			asked[word[3]] = e
		}
		events = append(events, e)
	}
	return events
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name, story, want string
		says              []string
	}{
		{"two tenures, nothing wrong", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			end a
			grant b by c2
			c2: read k #2 (b)
			applied #2
			c2: write k=2 #3 (b)
			applied #3
			ok #3
			final k=2`, history.Safe, nil},
		{"the stale write is refused", `
			grant a by c1
			end a
			grant b by c2
			c2: write k=2 #1 (b)
			applied #1
			ok #1
			c1: write k=1 #2 (a)
			refused #2 stale
			final k=2`, history.Safe, nil},
		{"the stale write is applied", `
			grant a by c1
			end a
			grant b by c2
			c2: write k=2 #1 (b)
			applied #1
			ok #1
			c1: write k=1 #2 (a)
			applied #2
			ok #2
			final k=1`, history.Corrupted, []string{"c1's write k=1 at 1.000 s was applied after c2's write k=2 at 1.000 s of a later tenure"}},
		{"the stale write lands between the new holder's read and its write", `
			grant a by c1
			end a
			grant b by c2
			c2: read k #1 (b)
			applied #1
			c1: write k=1 #2 (a)
			applied #2
			c2: write k=2 #3 (b)
			applied #3
			final k=2`, history.Corrupted, []string{"c1's write k=1 at 1.000 s was applied after c2's read of k at 1.000 s"}},
		{"the stale write hits another key of the lock", `
			grant a by c1
			end a
			grant b by c2
			c2: write k=2 #1 (b)
			applied #1
			c1: write m=1 #2 (a)
			applied #2
			final k=2
			final m=1`, history.Corrupted, []string{"c1's write m=1"}},
		{"an old holder's write before the new one's first request", `
			grant a by c1
			end a
			grant b by c2
			c1: write k=1 #1 (a)
			applied #1
			c2: write k=2 #2 (b)
			applied #2
			final k=2`, history.Safe, nil},
		{"a late stale read harms nobody", `
			grant a by c1
			end a
			grant b by c2
			c2: write k=2 #1 (b)
			applied #1
			c1: read k #2 (a)
			applied #2
			final k=2`, history.Safe, nil},
		{"a write without any lock", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			c2: write k=2 #2 (-)
			applied #2
			final k=2`, history.Corrupted, []string{"c2's write k=2"}},
		{"an acknowledged write is gone", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			final k=`, history.Corrupted, []string{"c1's write k=1 at 1.000 s is lost: afterwards k has no value"}},
		{"a read does not find it", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			c1: read k #2 (a)
			applied #2 k=
			final k=1`, history.Corrupted, []string{"is lost"}},
		{"a value from nowhere", `
			grant a by c1
			final k=7`, history.Corrupted, []string{"nobody wrote that"}},
		{"acknowledged, never applied", `
			grant a by c1
			c1: write k=1 #1 (a)
			ok #1
			final k=`, history.Corrupted, []string{"c1's write of k was acknowledged"}},
		{"told that it failed, and applied", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			fail #1
			final k=1`, history.Corrupted, []string{"c1's write k=1 at 1.000 s, of which c1 was told that it failed, was applied"}},
		{"the rightful holder is refused", `
			grant a by c1
			c1: write k=1 #1 (a)
			refused #1 stale
			final k=`, history.Blocked, []string{"c1's write k=1 at 1.000 s was refused (stale), but its client held the lock"}},
		{"a former holder is refused while the lock is free", `
			grant a by c1
			end a
			c1: write k=1 #1 (a)
			refused #1 stale
			final k=`, history.Safe, nil},
		{"a free lock is not granted", `
			grant a by c1
			end a
			nolock c2`, history.Blocked, []string{"c2 did not get the lock /lock, which was free"}},
		{"a lock that is held is not granted", `
			grant a by c1
			nolock c2`, history.Safe, nil},
		{"corrupted and blocked", `
			grant a by c1
			end a
			grant b by c2
			c2: write k=2 #1 (b)
			refused #1 missing
			c2: read k #2 (b)
			applied #2
			c1: write k=1 #3 (a)
			applied #3
			final k=1`, history.Corrupted, []string{"refused (missing)", "was applied after"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict.Judge(story(t, history.Expect{Verdict: tt.want}, tt.story))
			if v.Name != tt.want || !v.OK() {
				t.Errorf("verdict %s, mismatches %q, want %s; violations %+v", v.Name, v.Mismatches, tt.want, v.Violations)
			}
			if len(v.Violations) != len(tt.says) {
				t.Fatalf("violations %+v, want %q", v.Violations, tt.says)
			}
			for i, violation := range v.Violations {
				if !strings.Contains(violation.Text, tt.says[i]) {
					t.Errorf("violation %q, want %q", violation.Text, tt.says[i])
				}
			}
		})
	}
}

// TestViolationNamesItsEvents: the two that make it, by their places.
func TestViolationNamesItsEvents(t *testing.T) {
	events := story(t, history.Expect{}, `
		grant a by c1
		end a
		grant b by c2
		c2: write k=2 #1 (b)
		applied #1
		c1: write k=1 #2 (a)
		applied #2`)
	v := verdict.Judge(events)
	if len(v.Violations) != 1 || v.Violations[0].Before != 5 || v.Violations[0].Event != 7 {
		t.Errorf("got %+v, want the applied writes, events 5 and 7", v.Violations)
	}
}

func TestTokensDoNotCount(t *testing.T) {
	events := story(t, history.Expect{}, `
		grant a by c1
		end a
		grant b by c2
		c2: write k=2 #1 (b)
		applied #1
		c1: write k=1 #2 (a)
		applied #2`)
	for i := range events {
		events[i].Token = 1 << 40 >> i // growing the wrong way
	}
	if v := verdict.Judge(events); v.Name != history.Corrupted {
		t.Errorf("verdict %s, want corrupted whatever the tokens are", v.Name)
	}
}

func TestMismatches(t *testing.T) {
	one := 1
	v := verdict.Judge(story(t, history.Expect{Verdict: history.Corrupted, Stale: &one, Final: map[string]string{"k": "x", "m": "y"}}, `
		grant a by c1
		c1: write k=1 #1 (a)
		applied #1
		final k=1`))
	want := []string{
		"the verdict is safe, expected corrupted",
		"0 requests were refused as stale, expected 1",
		`at the end k holds "1", expected "x"`,
		`at the end m has no value, expected "y"`,
	}
	if !slices.Equal(v.Mismatches, want) || v.OK() {
		t.Errorf("got %q, OK %v, want %q", v.Mismatches, v.OK(), want)
	}
}

func ExampleJudge() {
	v := verdict.Judge([]history.Event{{Kind: history.KindRun, Run: &history.Run{Expect: history.Expect{Verdict: history.Safe}}}})
	fmt.Println(v.Name, v.OK())
	// Output: safe true
}
