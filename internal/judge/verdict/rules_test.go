package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestRetryIsKnownByItsName: a new request that asks for the same as an earlier one
// of unknown outcome is no retry.
func TestRetryIsKnownByItsName(t *testing.T) {
	for _, tt := range []judged{
		{"the same value once more", `
			version 2
			grant a by c1
			c1: write k=on #1 (a)
			applied #1
			unknown #1
			c1: write k=off #2 (a)
			applied #2
			ok #2
			c1: write k=on #3 (a)
			applied #3
			ok #3
			final k=on`, history.Safe, nil},
		{"the same delete once more", `
			version 2
			grant a by c1
			c1: delete k #1 (a)
			applied #1
			unknown #1
			c1: write k=off #2 (a)
			applied #2
			ok #2
			c1: delete k #3 (a)
			applied #3
			ok #3
			final k=`, history.Safe, nil},
		{"a retry", `
			version 2
			grant a by c1
			c1: write k=on #1 (a)
			applied #1
			unknown #1
			c1: write k=off #2 (a)
			applied #2
			ok #2
			c1: write k=on #3 (a) again #1
			applied #3
			ok #3
			final k=on`, history.Corrupted, []string{"c1's write k=off at 1.000 s was acknowledged, and then undone by c1's write k=on"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestUnderWayTogether: two writes of one tenure that are under way at the same
// time may land in either order, and no verdict depends on when the answers came.
func TestUnderWayTogether(t *testing.T) {
	for _, tt := range []judged{
		{"the answer comes after both", `
			grant a by c1
			c1: write k=1 #1 (a)
			c1: write k=2 #2 (a)
			applied #2
			applied #1
			ok #2
			ok #1
			final k=1`, history.Safe, nil},
		{"the answer comes between them", `
			grant a by c1
			c1: write k=1 #1 (a)
			c1: write k=2 #2 (a)
			applied #2
			ok #2
			applied #1
			ok #1
			final k=1`, history.Corrupted, []string{"c1's write k=2 at 1.000 s was acknowledged, and then undone by c1's write k=1"}},
		{"that of an earlier change of another key says nothing", `
			grant a by c1
			c1: write k=1 #1 (a)
			c1: change k=2,m=2 #2 (a)
			applied #2
			applied #1
			ok #2
			c1: write m=3 #3 (a)
			applied #3
			final k=1`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestNoLockGuards: a key that two clients change under two locks at a time.
func TestNoLockGuards(t *testing.T) {
	for _, tt := range []judged{
		{"a write of a holder is destroyed", `
			grant a by c1
			grant x by c2 of /other
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c2: write k=2 #2 (x)
			applied #2
			final k=2`, history.Corrupted, []string{"c2's write k=2 at 1.000 s, under the lock /other, destroys c1's write k=1 at 1.000 s, under the lock /lock: no lock guards k"}},
		{"it is over by then, and was not when the other began", `
			grant a by c1
			grant x by c2 of /other
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			end a
			c2: delete k #2 (x)
			applied #2
			final k=`, history.Corrupted, []string{"c2's delete of k"}},
		{"a late write of a tenure of another lock", `
			grant a by c1
			end a
			grant x by c2 of /other
			c2: write k=2 #2 (x)
			applied #2
			ok #2
			c1: write k=1 #1 (a)
			applied #1
			final k=1`, history.Corrupted, []string{"c1's write k=1"}},
		{"one after the other", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			end a
			grant x by c2 of /other
			c2: write k=2 #2 (x)
			applied #2
			final k=2`, history.Safe, nil},
		{"one client that holds both locks", `
			grant a by c1
			grant x by c1 of /other
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c1: write k=2 #2 (x)
			applied #2
			final k=2`, history.Safe, nil},
		{"two keys", `
			grant a by c1
			grant x by c2 of /other
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c2: write m=2 #2 (x)
			applied #2
			final k=1`, history.Safe, nil},
		{"a read destroys nothing", `
			grant a by c1
			grant x by c2 of /other
			c1: write k=1 #1 (a)
			applied #1
			ok #1
			c2: read k #2 (x)
			applied #2
			final k=1`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestHalfOfASecondChange: it matters to which change a half belongs, and not only
// which tenure made it.
func TestHalfOfASecondChange(t *testing.T) {
	const first = `
		version 2
		grant a by c1
		c1: write x=1 #1 (a) part #1 x=1,y=1
		applied #1
		ok #1
		c1: write y=1 #2 (a) part #1 x=1,y=1
		applied #2
		ok #2`
	for _, tt := range []judged{
		{"killed in its middle", first + `
			c1: write x=2 #3 (a) part #3 x=2,y=2
			applied #3
			ok #3
			end a
			grant b by c2
			c2: read x #4 (b)
			applied #4
			final x=2
			final y=1`, history.Corrupted, []string{"c1's write x=2 at 1.000 s is half of a change"}},
		{"complete", first + `
			c1: write x=2 #3 (a) part #3 x=2,y=2
			applied #3
			c1: write y=2 #4 (a) part #3 x=2,y=2
			applied #4
			final x=2
			final y=2`, history.Safe, nil},
		{"complete by a retry of its part", first + `
			c1: write x=2 #3 (a) part #3 x=2,y=2
			applied #3
			c1: write y=2 #4 (a) part #3 x=2,y=2
			unknown #4
			c1: write y=2 #5 (a) part #3 x=2,y=2 again #4
			applied #5
			final x=2
			final y=2`, history.Safe, nil},
		{"then a write of its own", first + `
			c1: write x=2 #3 (a) part #3 x=2,y=2
			applied #3
			c1: write x=3 #4 (a)
			applied #4
			final x=3
			final y=1`, history.Safe, nil},
		{"a change of which another key is missing", first + `
			c1: write x=2 #3 (a) part #3 x=2,z=2
			applied #3
			final x=2
			final y=1`, history.Safe, nil},
		{"half of a batch", `
			version 2
			grant a by c1
			c1: change x=1,y=1 #1 (a)
			applied #1
			ok #1
			c1: change x=2,y=2 #2 (a)
			half #2
			final x=2
			final y=1`, history.Corrupted, []string{"c1's write x=2 at 1.000 s is half of a change"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, []string{"x", "y"}) })
	}
}

// TestDuplicate: what was done before is acknowledged, and not done again.
func TestDuplicate(t *testing.T) {
	for _, tt := range []judged{
		{"a retry", `
			version 2
			grant a by c1
			c1: write k=1 #1 (a) 1
			applied #1
			unknown #1
			c1: write k=1 #2 (a) 1 again #1
			duplicate #2
			ok #2
			final k=1`, history.Safe, nil},
		{"of which the storage does not tell", `
			version 2
			grant a by c1
			c1: write k=1 #1 (a) 1
			applied #1
			unknown #1
			c1: write k=1 #2 (a) 1 again #1
			ok #2
			final k=1`, history.Corrupted, []string{"was acknowledged, but the storage did not apply it"}},
		{"of what was never done", `
			version 2
			grant a by c1
			c1: write k=1 #1 (a) 1
			unknown #1
			c1: write k=1 #2 (a) 1 again #1
			duplicate #2
			ok #2
			final k=`, history.Corrupted, []string{"was acknowledged, but the storage did not apply it"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

func TestExclusive(t *testing.T) {
	yes, no := true, false
	overlapping := `
		grant a by c1
		c1: write k=1 #1 (a)
		applied #1
		grant b by c2
		c2: read k #2 (b)
		applied #2
		end a
		grant x by c3 of /other
		end b`
	v := verdict.Judge(story(t, history.Expect{Verdict: history.Safe, Exclusive: &no}, overlapping))
	if v.Exclusive || !v.OK() || len(v.Overlaps) != 1 || v.Overlaps[0].Before != 1 || v.Overlaps[0].Event != 4 {
		t.Errorf("exclusive %v, overlaps %+v, mismatches %q; want false, one of the events 1 and 4", v.Exclusive, v.Overlaps, v.Mismatches)
	}
	v = verdict.Judge(story(t, history.Expect{Verdict: history.Safe, Exclusive: &yes}, overlapping))
	if want := "two tenures of a lock overlapped, expected that none do: c2 was granted /lock at 1.000 s, and the tenure of c1 was not over"; len(v.Mismatches) != 1 || v.Mismatches[0] != want {
		t.Errorf("mismatches %q, want %q", v.Mismatches, want)
	}
	v = verdict.Judge(story(t, history.Expect{Verdict: history.Safe, Exclusive: &no}, `
		grant a by c1
		end a
		grant b by c2`))
	if !v.Exclusive || len(v.Mismatches) != 1 || v.Mismatches[0] != "no two tenures of a lock overlapped, expected that some do" {
		t.Errorf("exclusive %v, mismatches %q", v.Exclusive, v.Mismatches)
	}
}

// TestOverlappingHolders: the rightful holder is the one that was granted last.
func TestOverlappingHolders(t *testing.T) {
	for _, tt := range []judged{
		{"the earlier one is refused", `
			grant a by c1
			grant b by c2
			c1: write k=1 #1 (a)
			refused #1 stale`, history.Safe, nil},
		{"and after the later one is over", `
			grant a by c1
			grant b by c2
			end b
			c1: write k=1 #1 (a)
			refused #1 stale`, history.Safe, nil},
		{"the later one is", `
			grant a by c1
			grant b by c2
			c2: write k=1 #1 (b)
			refused #1 stale`, history.Blocked, []string{"c2's write k=1"}},
		{"the lock is not free while one is not over", `
			grant a by c1
			grant b by c2
			end b
			nolock c3`, history.Safe, nil},
		{"the earlier one writes after the later", `
			grant a by c1
			grant b by c2
			c2: write k=2 #1 (b)
			applied #1
			c1: write k=1 #2 (a)
			applied #2
			final k=1`, history.Corrupted, []string{"c1's write k=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestLostHalves: what a storage lost that was started again is of no change any
// more.
func TestLostHalves(t *testing.T) {
	const before = `
		grant a by c1
		c1: change x=1,y=1 #1 (a)
		applied #1
		ok #1
		end a
		grant b by c2
		c2: change x=2,y=2 #2 (b)
		applied #2
		restart
		end b
		grant c by c3
		c3: read x #3 (c)`
	for _, tt := range []judged{
		{"half of a change is lost", before + `
			applied #3 x=1
			final x=1
			final y=2`, history.Corrupted, []string{"c3's read of x at 1.000 s finds them so"}},
		{"all of it is", before + `
			applied #3 x=1
			final x=1
			final y=1`, history.Safe, nil},
		{"the half that is there again was spoken of before", `
			grant a by c1
			c1: write x=1 #1 (a)
			applied #1
			end a
			grant b by c2
			c2: read x #2 (b)
			applied #2
			c2: write y=2 #3 (b)
			applied #3
			end b
			grant c by c3
			c3: read x #4 (c)
			applied #4
			restart
			final y=`, history.Corrupted, []string{"c1's write x=1", "c2's write y=2"}},
		{"a write that nobody was told of is lost, which the first final does not show", `
			grant a by c1
			c1: write y=1 #1 (a)
			applied #1
			restart
			final x=
			final y=`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, []string{"x", "y"}) })
	}
}

// TestRetriesOfVersion1: an answer may stand before its question.
func TestRetriesOfVersion1(t *testing.T) {
	events := story(t, history.Expect{}, `
		grant a by c1
		c1: write k=1 #1 (a) 1
		applied #1
		unknown #1
		c1: write k=1 #2 (a) 1
		ok #2
		final k=1`)
	events[5], events[6] = events[6], events[5]
	if v := verdict.Judge(events); v.Name != history.Safe {
		t.Errorf("%s %+v, want safe: the second is a retry of the first", v.Name, v.Violations)
	}
}

// TestTwoAtATimeOfVersion1: of two attempts at the same that were under way at a time
// a client tries the later one again.
func TestTwoAtATimeOfVersion1(t *testing.T) {
	v := verdict.Judge(story(t, history.Expect{}, `
		grant a by c1
		c1: write k=1 #1 (a) 1
		c1: write k=1 #2 (a) 1
		applied #2
		unknown #2
		applied #1
		ok #1
		c1: write k=1 #3 (a) 1
		ok #3
		final k=1`))
	if v.Name != history.Safe {
		t.Errorf("%s %+v, want safe: the third is a retry of the second", v.Name, v.Violations)
	}
}

// TestRefusalsAmongOthers: an attempt that is refused at several keys is one refusal,
// also where the storage refuses another one in between.
func TestRefusalsAmongOthers(t *testing.T) {
	events := story(t, history.Expect{}, `
		c1: change k=1,m=1 #1 (-)
		c2: write k=2 #2 (-)
		refused #1 stale
		refused #2 stale`)
	events[4], events[5] = events[5], events[4]
	if v := verdict.Judge(events); v.Refused != 2 || v.Stale != 2 {
		t.Errorf("%d refused, %d stale, want 2 of each", v.Refused, v.Stale)
	}
}
