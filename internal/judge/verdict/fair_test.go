package verdict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestFair: whether the lock service grants in the order of requests, by its own account.
func TestFair(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name, story string
		want        *bool
		before      int // lines of the history, from 0, where it is not
		event       int
	}{
		{"in the order of requests", `
			grant a by c1
			queue b by c2
			queue c by c3
			end a
			grant b by c2
			end b
			grant c by c3`, &yes, 0, 0},
		{"the second is granted first", `
			grant a by c1
			queue b by c2
			queue c by c3
			end a
			grant c by c3
			end c
			grant b by c2`, &no, 2, 5},
		{"somebody comes and need not queue", `
			grant a by c1
			queue b by c2
			end a
			grant c by c3
			end c
			grant b by c2`, &no, 2, 4},
		{"who is never granted may have left", `
			grant a by c1
			queue b by c2
			queue c by c3
			end a
			grant c by c3
			end c`, &yes, 0, 0},
		{"of two locks", `
			grant a by c1
			queue b by c2
			grant x by c3 of /other
			end a
			grant b by c2`, &yes, 0, 0},
		{"a reader comes before a writer that waits", `
			share a by c1
			queue b by c2
			share c by c3
			end a
			end c
			grant b by c2`, &no, 2, 3},
		{"readers have no order", `
			grant a by c1
			queue b by c2
			queue c by c3
			end a
			share c by c3
			share b by c2`, &yes, 0, 0},
		{"a reader behind a writer that came later", `
			grant a by c1
			queue b by c2
			queue c by c3
			end a
			grant c by c3
			end c
			share b by c2`, &no, 2, 5},
		{"nobody queues", `
			grant a by c1
			end a
			grant b by c2`, nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict.Judge(story(t, history.Expect{Verdict: history.Safe}, tt.story))
			if diff := cmp.Diff(tt.want, v.Fair); diff != "" {
				t.Fatalf("fair (-want +got):\n%s", diff)
			}
			if tt.want != &no {
				return
			}
			if len(v.Passed) != 1 || v.Passed[0].Before != tt.before || v.Passed[0].Event != tt.event {
				t.Errorf("%+v, want the events %d and %d", v.Passed, tt.before, tt.event)
			}
		})
	}
}

func TestExpectsFair(t *testing.T) {
	yes, no := true, false
	const (
		fair   = "grant a by c1\nqueue b by c2\nend a\ngrant b by c2"
		unfair = "grant a by c1\nqueue b by c2\nend a\ngrant c by c3\nend c\ngrant b by c2"
		silent = "grant a by c1\nend a\ngrant b by c2"
	)
	for _, tt := range []struct {
		story string
		want  *bool
		says  []string
	}{
		{fair, &yes, nil},
		{fair, &no, []string{"grants came in the order of requests, expected that they do not"}},
		{unfair, &no, nil},
		{unfair, &yes, []string{"grants did not come in the order of requests, expected that they do: c3 was granted /lock at 1.000 s, before c2, who had queued at 1.000 s"}},
		{silent, nil, nil},
		{silent, &yes, []string{"whether grants came in the order of requests cannot be judged: by the lock service's account nobody queued, or it does not tell who does"}},
		{silent, &no, []string{"whether grants came in the order of requests cannot be judged: by the lock service's account nobody queued, or it does not tell who does"}},
	} {
		v := verdict.Judge(story(t, history.Expect{Verdict: history.Safe, Fair: tt.want}, tt.story))
		if diff := cmp.Diff(tt.says, v.Mismatches); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.story, diff)
		}
	}
}
