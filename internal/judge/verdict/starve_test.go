package verdict_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestStarved: what the machine may have made by want of processor time is undecided; what it
// cannot have made stays.
func TestStarved(t *testing.T) {
	const (
		begun = `
			grant a by c1
			told c1 a
			c1: write k=1 #1 (a)
			after 1s`
		late = `
			end a expired
			grant b by c2
			told c2 b
			c2: write k=2 #2 (b)
			applied #2
			ok #2
			applied #1
			ok #1
			final k=1`
		ranOut = "c1's lease ran out at 2.000 s, which the story did not want: the machine gave c1 no processor for 0.9 s of the second before 2.000 s"
		dead   = `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 3s
			starved etcd 900ms
			after 1500ms`
	)
	for _, tt := range []struct{ name, story, want, why string }{
		{"a lease ran out", begun + "\nstarved c1 900ms" + late, history.Undecided, ranOut},
		{"for want of the lock service's time", begun + "\nstarved etcd 900ms" + late, history.Undecided, "the machine gave etcd no processor"},
		{"nobody starved", begun + late, history.Corrupted, ""},
		{"somebody else did", begun + "\nstarved c2 900ms" + late, history.Corrupted, ""},
		{"long after", begun + late + "\nafter 3s\nstarved c1 900ms", history.Corrupted, ""},
		{"the story wants it", begun + "\nawaited a\nstarved c1 900ms" + late, history.Corrupted, ""},
		{"its client was stopped", "grant a by c1\ntold c1 a\nc1: write k=1 #1 (a)\npause c1\nafter 1s\nstarved c1 900ms\nresume c1" + late, history.Corrupted, ""},
		{"the lock service was stopped", "grant a by c1\ntold c1 a\nc1: write k=1 #1 (a)\npause etcd\nafter 1s\nstarved c1 900ms\nresume etcd" + late, history.Corrupted, ""},
		{"it was let go of", begun + "\nstarved c1 900ms" + strings.Replace(late, "expired", "released", 1), history.Corrupted, ""},
		{"a write is lost, too", begun + "\nstarved c1 900ms" + strings.Replace(late, "final k=1", "final k=3", 1), history.Corrupted, ""},
		{"a client gives up", "lock c1\nafter 1s\nstarved c1 900ms\nnolock c1", history.Undecided, "c1's lock failed at 2.000 s: the machine gave c1 no processor for 0.9 s"},
		{"a client gave up, and nobody starved", "lock c1\nafter 1s\nnolock c1", history.Blocked, ""},
		{"a dead holder", dead + "\nend a", history.Undecided, "the machine gave etcd no processor"},
		{"it is held for longer than that explains", dead + "\nafter 1s\nend a", history.Blocked, ""},
		{"a free lock", "handover 3s\nlock c2\nafter 2s\nstarved c2 900ms\nafter 1500ms\ngrant b by c2\ntold c2 b", history.Undecided, "the machine gave c2 no processor"},
		{"a free lock for longer", "handover 3s\nlock c2\nafter 2s\nstarved c2 900ms\nafter 2s\ngrant b by c2\ntold c2 b", history.Blocked, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict.Judge(story(t, history.Expect{}, tt.story))
			if v.Name != tt.want || tt.why == "" && len(v.Undecided) > 0 && len(v.Violations) == 0 {
				t.Fatalf("verdict %s, violations %+v, open is %+v, want %s", v.Name, v.Violations, v.Undecided, tt.want)
			}
			if tt.why != "" && (len(v.Undecided) == 0 || !strings.Contains(v.Undecided[0].Text, tt.why)) {
				t.Errorf("open is %+v, want %q", v.Undecided, tt.why)
			}
		})
	}
}

// TestAnotherStory: a run that the machine may have made another story of is undecided where it
// is not as expected, and only there.
func TestAnotherStory(t *testing.T) {
	const held = "grant a by c1\ntold c1 a\nafter 1s"
	const ended = "\nend a expired\ngrant b by c2\ntold c2 b\nc2: write k=2 #2 (b)\napplied #2\nok #2\nfinal k=2"
	one, two := history.Expect{Final: map[string]string{"k": "1"}}, history.Expect{Final: map[string]string{"k": "2"}}
	for _, tt := range []struct {
		name, story string
		expect      history.Expect
		want        string
		ok          bool
	}{
		{"as expected", held + "\nstarved c1 900ms" + ended, two, history.Safe, true},
		{"not as expected", held + "\nstarved c1 900ms" + ended, one, history.Undecided, false},
		{"nobody starved", held + ended, one, history.Safe, false},
		{"the machine stood still", held + "\npause gcsim\nresume gcsim" + ended, one, history.Undecided, false},
		{"a read had no answer in time", "c1: read k #1 (-)\nafter 1s\nstarved storage 900ms\nunknown #1" + "\nfinal k=", two, history.Undecided, false},
		{"a violation that is not expected", held + "\nstarved c1 900ms" + ended + "\nfinal k=3", one, history.Corrupted, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict.Judge(story(t, tt.expect, tt.story))
			if v.Name != tt.want || v.OK() != tt.ok {
				t.Fatalf("verdict %s, as expected: %v, want %s, %v; %q", v.Name, v.OK(), tt.want, tt.ok, v.Mismatches)
			}
			if tt.want == history.Undecided && (len(v.Mismatches) == 0 || !strings.HasPrefix(v.Mismatches[0], "the verdict is undecided, expected safe: ")) {
				t.Errorf("got %q, want the reason first", v.Mismatches)
			}
		})
	}
}
