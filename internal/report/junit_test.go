package report

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/ci"
	"github.com/fencelab/fencelab/internal/report/junittest"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/tools/golden"
	"github.com/fencelab/fencelab/internal/tools/need"
)

func violation(text string) []history.Violation {
	return []history.Violation{{Verdict: history.Corrupted, Kind: history.Stale, Text: text}}
}

// someResults has one of each end that a run can come to.
func someResults() []story.Result {
	began := time.Date(2026, 4, 5, 6, 7, 8, 9, time.FixedZone("", 3600))
	events := func(seed uint64, expect string) []history.Event {
		return []history.Event{{Kind: history.KindRun, Run: &history.Run{Seed: seed, Expect: history.Expect{Verdict: expect}}}}
	}
	return []story.Result{
		{Service: "etcd", Scenario: "01-gc-pause", Title: "A \"paused\" <holder>", Variant: "fenced", Began: began.Add(time.Second), Took: 1234567 * time.Microsecond,
			Events: events(0, "safe"), Outcome: story.Outcome{Name: "safe", OK: true, Facts: story.Facts{Stale: 1, Refused: 2, Ordered: new(true), Exclusive: new(true), Fenced: "yes", Final: map[string]string{"key0": "x"}}}},
		{Service: "etcd", Scenario: "01-gc-pause", Title: "A \"paused\" <holder>", Variant: "unfenced", Control: true, Began: began, Took: 2 * time.Second,
			Events: events(0, "corrupted"), Outcome: story.Outcome{Name: "corrupted", OK: true, Violations: violation("a write was applied"), Facts: story.Facts{Ordered: new(false), Exclusive: new(false), Fenced: "undecided", Reason: "it took too long", Final: map[string]string{}}}},
		{Service: "redis", Scenario: "21-healthy", Title: "All is well", Variant: "plain", Round: 1, Began: began, Took: 12 * time.Second,
			Events: events(4711, "safe"), Outcome: story.Outcome{Name: "corrupted", Violations: violation("a|b is\n<lost>"), Facts: story.Facts{Ordered: new(false), Exclusive: new(false), Fenced: "no", Final: map[string]string{}},
				Mismatches: []string{"the verdict is corrupted, expected safe", "at the end key0 holds \"*x*\x1b\""}}},
		{Service: "redis", Scenario: "21-healthy", Title: "All is well", Variant: "plain", Round: 2, Began: began, Took: time.Second,
			Err: errors.New("21-healthy.yaml line 3, step \"client1: lock\": storage ended; it last said:\npanic: \xff|")},
		{Service: "redis", Scenario: "21-healthy", Title: "All is well", Variant: "plain", Round: 3, Began: began, Took: time.Second,
			Events: events(4713, "safe"), Outcome: story.Outcome{Name: "undecided", Open: true, Facts: story.Facts{Ordered: new(true), Exclusive: new(true), Fenced: "yes", Final: map[string]string{}},
				Mismatches: []string{"the verdict is undecided, expected safe: c1's write k=1 at 0.100 s had no answer"}}},
		{Service: "etcd", Scenario: "13-leader-paused", Title: "The leader is stopped", Variant: "fenced", Skipped: "it needs an etcd of 3 members of its own"},
	}
}

func textOf(t interface{ Fatal(...any) }, f func(*bytes.Buffer) error) string {
	var out bytes.Buffer
	if err := f(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestResultsGolden(t *testing.T) {
	golden.Check(t, "testdata/results.junit.xml", textOf(t, func(w *bytes.Buffer) error { return ci.JUnit(w, someResults()) }))
	golden.Check(t, "testdata/results.json", textOf(t, func(w *bytes.Buffer) error { return ci.JSON(w, someResults()) }))
	golden.Check(t, "testdata/results.md", textOf(t, func(w *bytes.Buffer) error { return ci.Markdown(w, someResults()) }))
}

var anyEnd = rapid.Custom(func(t *rapid.T) story.Result {
	d := anyDrawing.Draw(t, "drawing")
	name := rapid.StringMatching(`[a-z0-9-]{1,8}`)
	r := story.Result{
		Scenario: name.Draw(t, "scenario"), Title: anyString.Draw(t, "title"), Variant: name.Draw(t, "variant"),
		Control: rapid.Bool().Draw(t, "control"), Round: rapid.IntRange(0, 2).Draw(t, "round"),
		Began: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "began"), 0), Took: time.Duration(rapid.Int64Range(0, 1<<45).Draw(t, "took")),
		Events: d.Events, Outcome: d.Outcome,
	}
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		r.Err = errors.New(anyString.Draw(t, "error"))
	case 1:
		r.Skipped = "because " + anyString.Draw(t, "skipped")
	}
	return r
})

// TestJUnitIsValid: by the schema, whatever the runs say. xmllint is the second
// opinion: it does not read as Go writes.
func TestJUnitIsValid(t *testing.T) {
	files := []string{"testdata/results.junit.xml"}
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		results := rapid.SliceOfN(anyEnd, 0, 6).Draw(rt, "results")
		name := filepath.Join(dir, strconv.Itoa(len(files))+".xml")
		b := textOf(rt, func(w *bytes.Buffer) error { return ci.JUnit(w, results) })
		if err := junittest.Check([]byte(b)); err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(b), 0o666); err != nil {
			rt.Fatal(err)
		}
		files = append(files, name)
	})
	if len(files) < 50 {
		t.Fatalf("only %d files", len(files))
	}
	t.Run("xmllint", func(t *testing.T) {
		xmllint := need.Program(t, "xmllint", "for a second opinion on XML")
		out, err := exec.Command(xmllint, append([]string{"--noout", "--schema", "testdata/junit.xsd"}, files...)...).CombinedOutput()
		if err != nil {
			t.Errorf("xmllint: %v\n%s", err, out)
		}
	})
}

// TestJUnitWords: where nothing was run no case looks as if all were well, and a message is one sentence.
func TestJUnitWords(t *testing.T) {
	wordy := story.Result{Scenario: "laws", Variant: "A", Outcome: story.Outcome{Mismatches: []string{"A write is refused. Then it is done.", "It was done.", "curl -X PUT"}}}
	for name, tt := range map[string]struct {
		result story.Result
		want   []string
	}{
		"left out": {someResults()[5], []string{`errors="1" skipped="0"`, `<error type="could not be run" message="nothing was run: it needs an etcd of 3 members of its own">`}},
		"wordy":    {wordy, []string{` message="A write is refused">A write is refused. Then it is done.&#xA;It was done.&#xA;curl -X PUT</failure>`}},
	} {
		got := textOf(t, func(w *bytes.Buffer) error { return ci.JUnit(w, []story.Result{tt.result}) })
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %s in\n%s", name, want, got)
			}
		}
	}
}

func TestSummary(t *testing.T) {
	all := someResults()
	for _, tt := range []struct {
		results []story.Result
		want    string
	}{
		{nil, "nothing was run"},
		{all[:1], "1 run of 1 scenario in 1.2 s: all as expected"},
		{all[:2], "2 runs of 1 scenario in 2.2 s: all as expected"},
		{all[5:], "nothing was run; 1 left out: it needs an etcd of 3 members of its own"},
		{[]story.Result{{Scenario: "a", File: "a", Took: time.Second, Outcome: story.Outcome{OK: true}}}, "1 run of 1 scenario: all as expected"},
		{[]story.Result{{Scenario: "a", File: "a", Outcome: story.Outcome{OK: true}}, {Scenario: "b", File: "b", Err: errors.New("no history")}}, "2 runs of 2 scenarios: 1 could not be judged"},
		{[]story.Result{{Scenario: "a", File: "a", Yours: true, Outcome: story.Outcome{OK: true}}}, "1 run of 1 scenario with your storage: all as expected"},
		{[]story.Result{{Scenario: "a", File: "a", Yours: true}, {Scenario: "a", File: "a"}}, "2 runs of 1 scenario (1 with your storage): 2 NOT as expected"},
		{append(all[:1:1], story.Result{Skipped: "x"}, story.Result{Skipped: "x"}), "1 run of 1 scenario in 1.2 s: all as expected; 2 left out: x"},
		{append(all[:1:1], story.Result{Skipped: "x"}, story.Result{Skipped: "y"}), "1 run of 1 scenario in 1.2 s: all as expected; 2 left out"},
		{all, "5 runs of 2 scenarios in 12 s: 2 as expected, 1 NOT as expected, 1 undecided, 1 could not be run; 1 left out: it needs an etcd of 3 members of its own"},
	} {
		if got := story.Summary(tt.results); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
