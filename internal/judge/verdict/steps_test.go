package verdict_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestStepsAreOfWhatWasAsked: what a client is told is of the step that asked, whatever
// else the client asks meanwhile.
func TestStepsAreOfWhatWasAsked(t *testing.T) {
	event := func(kind history.Kind, op, scope, request, step string) history.Event {
		return history.Event{Lane: "c", Kind: kind, Op: op, Scope: scope, Request: request, Step: step}
	}
	for name, tt := range map[string]struct {
		events []history.Event
		want   map[string]string
	}{
		"a lock that is granted while another is asked for": {[]history.Event{
			event(history.KindInvoke, "lock", "/a", "", "a"), event(history.KindInvoke, "lock", "/b", "", "b"),
			event(history.KindFail, "lock", "/a", "", ""), event(history.KindOK, "lock", "/b", "", ""),
		}, map[string]string{"a": "failed", "b": "ok"}},
		"a lock after queue, granted before": {[]history.Event{
			event(history.KindInvoke, "lock", "/a", "", ""), event(history.KindOK, "lock", "/a", "", ""),
			event(history.KindNote, "lock", "/a", "", "second"),
			event(history.KindInvoke, "read", "/a", "1", ""), {Lane: "c", Kind: history.KindOK, Op: "read", Request: "1", Missing: true},
		}, map[string]string{"second": "ok"}},
		"a lock after queue, refused after": {[]history.Event{
			event(history.KindInvoke, "lock", "/a", "", "first"), event(history.KindNote, "lock", "/a", "", "second"),
			event(history.KindFail, "lock", "/a", "", ""), event(history.KindInvoke, "write", "/a", "1", "third"),
			event(history.KindOK, "write", "/a", "1", ""),
		}, map[string]string{"first": "failed", "second": "failed", "third": "ok"}},
		"a step of several requests": {[]history.Event{
			event(history.KindInvoke, "write", "/a", "1", "change"), event(history.KindOK, "write", "/a", "1", ""),
			event(history.KindInvoke, "write", "/a", "2", "change"), event(history.KindFail, "write", "/a", "2", ""),
		}, map[string]string{"change": "failed"}},
		"an unlock of what goes on": {[]history.Event{event(history.KindNote, "", "/a", "", "unlock")}, map[string]string{"unlock": "ok"}},
		"nothing was told":          {[]history.Event{event(history.KindInvoke, "lock", "/a", "", "a")}, map[string]string{"a": "not done"}},
	} {
		wrong := make(map[string]string)
		for step := range tt.want {
			wrong[step] = "missing"
		}
		run := history.Run{Version: 2, Expect: history.Expect{Verdict: history.Safe, Steps: wrong}}
		v := verdict.Judge(append([]history.Event{{Kind: history.KindRun, Run: &run}}, tt.events...))
		var want []string
		for _, step := range []string{"a", "b", "change", "first", "second", "third", "unlock"} {
			if outcome, is := tt.want[step]; is {
				want = append(want, `the step "`+step+`": `+outcome+`, expected missing`)
			}
		}
		ofSteps := slices.DeleteFunc(v.Mismatches, func(m string) bool { return !strings.HasPrefix(m, "the step") })
		if diff := cmp.Diff(want, ofSteps); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
