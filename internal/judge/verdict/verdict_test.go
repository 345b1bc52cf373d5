package verdict_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

func TestJudge(t *testing.T) {
	for _, tt := range []judged{
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
		{"an acknowledged delete is gone", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			c1: delete k #2 (a)
			applied #2
			ok #2
			final k=1`, history.Corrupted, []string{`c1's delete of k at 1.000 s is lost: afterwards k holds "1"`}},
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
		{"told that it failed, and applied later", `
			grant a by c1
			c1: write k=1 #1 (a)
			fail #1
			applied #1
			final k=1`, history.Corrupted, []string{"c1's write k=1 at 1.000 s, of which c1 was told that it failed, was applied"}},
		{"a read of which its client was told that it failed harms nobody", `
			grant a by c1
			c1: read k #1 (a)
			applied #1
			fail #1
			final k=`, history.Safe, nil},
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
		{"a waiter whose lease ran out is not granted a free lock", `
			grant a by c1
			end a
			nolock c2 expired`, history.Safe, nil},
		{"a lock that is held is not granted", `
			grant a by c1
			nolock c2`, history.Safe, nil},
		{"corrupted and blocked", `
			grant a by c1
			end a
			grant b by c2
			c2: write k=2 #1 (b)
			refused #1 ahead
			c2: read k #2 (b)
			applied #2
			c1: write k=1 #3 (a)
			applied #3
			final k=1`, history.Corrupted, []string{"refused (ahead)", "was applied after"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
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
	one, two, no := 1, 2, false
	v := verdict.Judge(story(t, history.Expect{Verdict: history.Corrupted, Stale: &one, Refused: &two, Ordered: &no, Final: map[string]string{"k": "x", "m": "y"}}, `
		grant a by c1
		c1: write k=1 #1 (a)
		applied #1
		final k=1`))
	want := []string{
		"the verdict is safe, expected corrupted",
		"requests refused as stale: 0, expected 1",
		"requests refused: 0, expected 2",
		"tokens grew in the order of the grants, expected that they do not",
		`at the end k holds "1", expected "x"`,
		`at the end m has no value, expected "y"`,
	}
	if !slices.Equal(v.Mismatches, want) || v.OK() {
		t.Errorf("got %q, OK %v, want %q", v.Mismatches, v.OK(), want)
	}
}

func TestNotOrdered(t *testing.T) {
	yes := true
	v := verdict.Judge(story(t, history.Expect{Verdict: history.Safe, Ordered: &yes}, `
		grant a by c1
		told c1 a 9
		grant b by c2
		told c2 b 5`))
	want := []string{"tokens did not grow in the order of the grants, expected that they do"}
	if !slices.Equal(v.Mismatches, want) {
		t.Errorf("got %q, want %q", v.Mismatches, want)
	}
}

func ExampleJudge() {
	v := verdict.Judge([]history.Event{{Kind: history.KindRun, Run: &history.Run{Expect: history.Expect{Verdict: history.Safe}}}})
	fmt.Println(v.Name, v.OK())
	// Output: safe true
}

// TestNamedSteps: what is expected of a step is held against what its client was told.
func TestNamedSteps(t *testing.T) {
	run := history.Run{Version: 2, Expect: history.Expect{
		Verdict: history.Corrupted, Missing: []string{"gone", "there"},
		Steps: map[string]string{"late": "stale", "look": "found 2", "none": "found nothing", "lost": "unknown", "kept": "ok", "never": "ok"},
	}}
	ask := func(lane, op, request, step string) history.Event {
		return history.Event{Lane: lane, Kind: history.KindInvoke, Op: op, Request: request, Step: step, Key: "k"}
	}
	told := func(lane, op, request string, kind history.Kind, e history.Event) history.Event {
		e.Lane, e.Op, e.Request, e.Kind = lane, op, request, kind
		return e
	}
	v := verdict.Judge([]history.Event{
		{Kind: history.KindRun, Run: &run},
		ask("c", "lock", "", "kept"), told("c", "lock", "", history.KindOK, history.Event{}),
		ask("c", "write", "1", "late"), ask("c", "write", "2", "lost"),
		told("c", "write", "2", history.KindUnknown, history.Event{}), told("c", "write", "1", history.KindFail, history.Event{Reason: "missing"}),
		ask("c", "read", "3", "look"), told("c", "read", "3", history.KindOK, history.Event{Value: "1"}),
		ask("c", "read", "4", "none"), told("c", "read", "4", history.KindOK, history.Event{Missing: true}),
		{Lane: "storage", Kind: history.KindFinal, Key: "there", Value: "1"}, {Lane: "storage", Kind: history.KindFinal, Key: "gone", Missing: true},
	})
	want := []string{
		`at the end there holds "1", expected that it has no value`,
		`the step "late": missing, expected stale`, `the step "look": found 1, expected found 2`, `the step "never": not done, expected ok`,
	}
	if diff := cmp.Diff(want, v.Mismatches); diff != "" {
		t.Error(diff)
	}
}
