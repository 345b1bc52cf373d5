package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/page"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
)

// TestSecondOpinionIsSaid: wherever a verdict stands, whatever the run expects.
func TestSecondOpinionIsSaid(t *testing.T) {
	d := load(t, "fenced")
	for fenced, want := range map[string]string{
		"yes": "", "": "",
		"no":        "The storage broke the rule of a fence: only the highest token writes.",
		"undecided": "Whether the storage kept the rule of a fence is undecided: it took too long.",
	} {
		d.Outcome.Facts = story.Facts{Fenced: fenced, Reason: "it took too long"}
		ofRun := pageOf(t, page.Scenario, []story.Result{{Scenario: "s", Variant: "v", Events: d.Events, Outcome: d.Outcome}})
		for name, got := range map[string]string{"terminal": show(t, terminal.Options{Width: 200}, d), "SVG": drawn(t, d), "page": ofRun} {
			if strings.Contains(got, "the rule of a fence") != (want != "") || !strings.Contains(got, want) {
				t.Errorf("%s, fenced %q: want %q in\n%s", name, fenced, want, got)
			}
		}
	}
}

// TestLeasesAreSaid: before the first run, and before one with others.
func TestLeasesAreSaid(t *testing.T) {
	var runs []story.Drawing
	for _, leases := range []string{"", "etcd; leases: client1 1s", "etcd; leases: client1 1s", "etcd; leases: client1 2s"} {
		d := load(t, "fenced")
		run := *d.Events[0].Run
		run.Leases = leases
		d.Events[0].Run = &run
		runs = append(runs, d)
	}
	got := show(t, terminal.Options{}, runs...)
	for words, want := range map[string]int{"leases:": 2, "checks tokens\netcd; leases: client1 1s\n": 1, "checks tokens\netcd; leases: client1 2s\n": 1} {
		if n := strings.Count(got, words); n != want {
			t.Errorf("%d times %q, want %d, in\n%s", n, words, want, got)
		}
	}
}

// TestTroubleIsSaid: a run without a verdict is drawn as far as it goes, with why
// it has none: of all that is wrong with its history, the first.
func TestTroubleIsSaid(t *testing.T) {
	events := load(t, "fenced").Events[:6]
	wrong := &history.InvalidError{Problems: []history.Problem{{Line: 7, Text: "it is not there"}, {Line: 9, Text: "nor is that"}}}
	for want, err := range map[string]error{
		"the history cannot be judged: line 7: it is not there": fmt.Errorf("file: %w", wrong),
		"no room": errors.New("no room"),
	} {
		r := story.Result{Scenario: "s", Variant: "v", Events: events, Err: err}
		for name, got := range map[string]string{"terminal": show(t, terminal.Options{Width: 200}, r.Drawing()), "SVG": drawn(t, r.Drawing()), "page": pageOf(t, page.Scenario, []story.Result{r})} {
			for _, words := range []string{want, "not judged", "client1 holds /lock:"} {
				if !strings.Contains(got, words) {
					t.Errorf("%s: no %q in\n%s", name, words, got)
				}
			}
			if strings.Contains(got, "as expected") && name != "page" {
				t.Errorf("%s: an expectation without a verdict in\n%s", name, got)
			}
		}
	}
}

// TestRefusalIsNoHarm: they differ in class, colour, sign and words.
func TestRefusalIsNoHarm(t *testing.T) {
	stale := history.Event{Lane: history.LaneStorage, Kind: history.KindRefused, Client: "c", Op: history.OpWrite, Key: "k", Reason: "stale", Token: 5, Mark: 9}
	applied := stale
	applied.Kind = history.KindApplied
	run := history.Event{Kind: history.KindRun, Run: &history.Run{Lanes: []string{"c", history.LaneStorage}}}
	at := func(kind history.ViolationKind, verdict string) []history.Violation {
		return []history.Violation{{Verdict: verdict, Kind: kind, Before: -1, Event: 1}}
	}
	for name, test := range map[string]struct {
		event       history.Event
		violations  []history.Violation
		class, sign string
		words       string
		tone        story.Tone
	}{
		"good":    {stale, nil, `<line class="shaft refused"`, "o------X", "REFUSED as stale: the mark is 9", story.Shield},
		"blocked": {stale, at(history.Refusal, history.Blocked), `<line class="shaft bad thick"`, "o======X", "REFUSED as stale: the mark is 9, though c HOLDS the lock", story.Bad},
		"harm":    {applied, at(history.Stale, history.Corrupted), `<line class="shaft bad thick"`, "o======>", "APPLIED unchecked, though somebody, the later holder, had been there", story.Bad},
	} {
		d := story.Drawing{Events: []history.Event{run, test.event}, Outcome: story.Outcome{Violations: test.violations}}
		if got := drawn(t, d); !strings.Contains(got, test.class) {
			t.Errorf("%s: no %s in\n%s", name, test.class, got)
		}
		got := show(t, terminal.Options{ASCII: true, Width: 120}, d)
		if !strings.Contains(got, test.sign) || !strings.Contains(got, test.words) {
			t.Errorf("%s: no %s or no %q in\n%s", name, test.sign, test.words, got)
		}
		if got := story.NewBuilder().Add(d.Events, test.violations)[0].Class.Tone; got != test.tone {
			t.Errorf("%s: got the tone %q, want %q", name, got, test.tone)
		}
	}
}
