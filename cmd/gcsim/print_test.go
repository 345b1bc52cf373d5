package main

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/scenario"
)

// told prints results and returns what was printed.
func told(t *testing.T, drawn bool, repeat int, ends ...story.Result) string {
	t.Helper()
	var out bytes.Buffer
	jobs := plan([]*scenario.Scenario{scenarioOf("01-first", scenario.Lock, "fenced", "bare")}, repeat, lab.Options{})
	line := newProgress(&out, nil)
	defer line.end()
	p := newPrinter(&output{Writer: &out, failed: func() { t.Error("cannot print") }}, line, terminal.Options{}, jobs, drawn, drawn)
	for i, j := range jobs {
		r := &ends[i]
		r.Scenario, r.Variant, r.Round = j.scenario.Name, j.variant.Name, j.round
		r.Began, r.Took = time.Unix(0, 0), 1500*time.Millisecond
		if len(r.Events) > 0 && j.options.Emit != nil {
			j.options.Emit(r.Events)
		}
		p.catchUp()
		p.result(*r)
	}
	p.summary(ends)
	return out.String()
}

func ended(verdict string, mismatches ...string) story.Result {
	run := &history.Run{Title: "TITLE", Variant: "v", Lanes: []string{"etcd"}, Seed: 99}
	return story.Result{
		Events:  []history.Event{{Kind: history.KindRun, Run: run}},
		Outcome: story.Outcome{Name: verdict, OK: len(mismatches) == 0, Mismatches: mismatches},
	}
}

func wantLines(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains("\n"+got+"\n", "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, got)
		}
	}
}

func TestLines(t *testing.T) {
	got := told(t, false, 1, ended("safe"), ended("blocked", "the verdict is blocked, expected safe"))
	wantLines(t, got,
		"01-first  fenced  safe, as expected                       1.5 s  seed 99",
		"01-first  bare    blocked, NOT as expected                1.5 s  seed 99",
		"2 runs of 1 scenario in 1.5 s: 1 NOT as expected",
		"01-first bare: blocked, NOT as expected",
		"  the verdict is blocked, expected safe",
	)
	if n := strings.Count(got, "TITLE"); n != 1 {
		t.Errorf("%d timelines, want that of the run that is not as expected:\n%s", n, got)
	}
}

func TestNarrowLines(t *testing.T) {
	var out bytes.Buffer
	jobs := plan([]*scenario.Scenario{scenarioOf("01-first", scenario.Lock, "fenced", "bare"), scenarioOf("02-other", scenario.Lock, "a")}, 1, lab.Options{})
	p := newPrinter(&output{Writer: &out}, nil, terminal.Options{}, jobs, false, false)
	p.narrow = true
	for i, mismatches := range [][]string{nil, {"the verdict is blocked, expected safe"}, nil} {
		r := ended("safe", mismatches...)
		r.Scenario, r.Variant, r.Took = jobs[i].scenario.Name, jobs[i].variant.Name, time.Second
		p.result(r)
	}
	wantLines(t, out.String(), "01-first\n fenced  safe, as expected                       1.0 s  seed 99", "02-other\n a       safe, as expected                       1.0 s  seed 99")
	if n := strings.Count(out.String(), "01-first\n"); n != 1 {
		t.Errorf("the scenario stands %d times above its variants:\n%s", n, out.String())
	}
}

// TestLinesFit: what comes after the pictures wraps nowhere by itself, and loses
// no word; a seed has its room, too.
func TestLinesFit(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120} {
		var out bytes.Buffer
		jobs := plan([]*scenario.Scenario{scenarioOf("21-healthy", scenario.Lock, "no-fault", "pauses-unfenced")}, 1, lab.Options{})
		p := newPrinter(&output{Writer: &out}, nil, terminal.Options{}, jobs, false, false)
		p.fit(width, len(seedOf(384201)))
		results := []story.Result{ended("safe"), ended("corrupted", "the verdict is corrupted, expected safe: that is not what was to come of it, at all")}
		for i := range results {
			r := &results[i]
			r.Scenario, r.Variant, r.Control, r.Took = "21-healthy", jobs[i].variant.Name, i == 1, 14500*time.Millisecond
			r.Outcome.OK, r.Events[0].Run.Seed = true, 384201
			p.tellLine(*r)
			r.Outcome.OK = i == 0
		}
		p.summary(results)
		p.next(results, "out/index.html")
		for line := range strings.Lines(out.String()) {
			if n := len(line) - 1; n > width {
				t.Errorf("a line of %d in a width of %d: %q", n, width, line)
			}
		}
		got := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range []string{"pauses-unfenced corrupted, as expected of the control 14.5 s seed 384201", "1 NOT as expected", "not what was to come of it, at all", "a browser: it shows all runs."} {
			if !strings.Contains(got, want) {
				t.Errorf("width %d: no %q in\n%s", width, want, out.String())
			}
		}
	}
}

func TestNext(t *testing.T) {
	of := func(scenarios ...string) (results []story.Result) {
		for _, name := range scenarios {
			run := &history.Run{Scenario: name, Helps: "a great\ndeal"}
			results = append(results, story.Result{Scenario: name, Events: []history.Event{{Run: run}}})
		}
		return results
	}
	for name, tt := range map[string]struct {
		results    []story.Result
		drawn      bool
		live       bool
		page, want string
	}{
		"several":       {of("a", "b"), false, false, "out/index.html", "\n\"gcsim explain NAME\" tells what a scenario teaches, \"gcsim run NAME\" draws it.\nOpen out/index.html in a browser: it shows all runs.\n"},
		"drawn":         {of("a", "b"), true, false, "", "\n\"gcsim explain NAME\" tells what a scenario teaches, \"gcsim list\" names them all.\nWith -o DIR all is kept, and DIR/index.html shows it in a browser.\n"},
		"one":           {of("01-gc-pause", "01-gc-pause"), true, true, "", "What helps: a great deal\nNext: gcsim explain gc-pause, or this command with --step\n"},
		"at one's pace": {of("01-gc-pause"), true, false, "", "What helps: a great deal\nNext: gcsim explain gc-pause\n"},
		"one's own":     {of("my"), true, true, "out/index.html", "What helps: a great deal\nNext: gcsim list\nOpen out/index.html in a browser: it shows all runs.\n"},
	} {
		var out bytes.Buffer
		p := &printer{out: &output{Writer: &out}, drawn: tt.drawn}
		if tt.live {
			p.told = make(chan struct{})
		}
		p.next(tt.results, tt.page)
		if got := out.String(); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestDrawn(t *testing.T) {
	got := told(t, true, 1, ended("safe"), ended("safe"))
	if n := strings.Count(got, "verdict: safe, as expected"); n != 2 || strings.Contains(got, "2 runs of 1 scenario") {
		t.Errorf("want 2 timelines, and nothing that they say already:\n%s", got)
	}
	got = told(t, true, 1, ended("safe"), ended("blocked", "x"))
	wantLines(t, got, "verdict: blocked, NOT as expected", "2 runs of 1 scenario in 1.5 s: 1 NOT as expected",
		"01-first  fenced  safe, as expected                       1.5 s  seed 99", "01-first bare: blocked, NOT as expected", "  x")
}

func TestFlakyIsTold(t *testing.T) {
	wantLines(t, told(t, false, 2, ended("safe"), ended("blocked", "x"), ended("safe"), ended("safe")),
		"01-first  fenced #1  safe, as expected                       1.5 s  seed 99",
		"01-first  fenced     flaky: 1 of 2 safe, as expected; 1 of 2 blocked, NOT as expected",
		"01-first  bare       2 of 2 safe, as expected",
	)
}

// TestUndecidedIsTold: a run of which nobody knows whether it came out as expected makes a
// variant not flaky, is counted apart, and its reason is told.
func TestUndecidedIsTold(t *testing.T) {
	open := ended("undecided", "it had no answer")
	open.Outcome.OK, open.Outcome.Open = false, true
	wantLines(t, told(t, false, 2, ended("safe"), open, ended("safe"), ended("safe")),
		"01-first  fenced     1 of 2 safe, as expected; 1 of 2 undecided",
		"4 runs of 1 scenario in 1.5 s: 3 as expected, 1 undecided",
		"01-first fenced #2: undecided",
		"  it had no answer",
	)
}

func TestBrokenRunIsTold(t *testing.T) {
	got := told(t, false, 1, story.Result{Err: errors.New("first.yaml line 3: no\nmore of it")}, story.Result{Skipped: "no way"})
	wantLines(t, got,
		"01-first  fenced  could not be run                        1.5 s",
		"1 run of 1 scenario in 1.5 s: 1 could not be run; 1 left out: no way",
		"  01-first bare",
		"01-first fenced: could not be run",
		"  first.yaml line 3: no",
		"  more of it",
	)
}

// TestLeftOutByReason: a reason is told once.
func TestLeftOutByReason(t *testing.T) {
	got := told(t, false, 2, story.Result{Skipped: "no way"}, ended("safe"), story.Result{Skipped: "no time"}, story.Result{Skipped: "no way"})
	wantLines(t, got,
		"01-first  fenced     1 of 1 safe, as expected",
		"1 run of 1 scenario in 1.5 s: all as expected; 3 left out",
		"2 left out: no way",
		"  01-first fenced #1, 01-first bare #2",
		"1 left out: no time",
		"  01-first bare #1",
	)
	if n := strings.Count(got, "no way"); n != 1 {
		t.Errorf("the reason is told %d times:\n%s", n, got)
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		results []story.Result
		want    string
	}{
		{[]story.Result{ended("safe")}, ""},
		{[]story.Result{ended("safe"), {Skipped: "x"}}, ""},
		{[]story.Result{{Skipped: "x"}}, "nothing was run"},
		{[]story.Result{ended("safe"), ended("safe", "y")}, "1 of 2 runs did not come out as expected"},
		{[]story.Result{ended("safe", "y"), {Err: errors.New("x")}}, "1 of 2 runs could not be made"},
		{[]story.Result{ended("safe"), {Outcome: story.Outcome{Open: true}}}, "1 of 2 runs are undecided"},
		{[]story.Result{ended("safe", "y"), {Outcome: story.Outcome{Open: true}}}, "1 of 2 runs did not come out as expected"},
	} {
		err := status(tt.results)
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

// TestOutputEnds: what cannot be printed ends the runs, once.
func TestOutputEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	failed := 0
	o := &output{Writer: w, failed: func() { failed++ }}
	for range 2 {
		if _, err := o.Write([]byte("x")); err == nil || o.err == nil {
			t.Error("no error")
		}
	}
	if failed != 1 {
		t.Errorf("told %d times", failed)
	}
}

func TestProgressLine(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, width: func() int { return 12 }, line: func() string { return "all of this is too much" }, stop: make(chan struct{})}
	p.show()
	p.show() // nothing new
	p.print(func() { out.WriteString("a line\n") })
	p.show()
	p.end()
	const erase = "\r\x1b[K"
	if got, want := out.String(), erase+"all of t..."+erase+"a line\n"+erase+"all of t..."+erase; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestProgressWaits: until nothing was printed for a while.
func TestProgressWaits(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, silence: time.Hour, width: func() int { return 80 }, line: func() string { return "it goes on" }, stop: make(chan struct{})}
	p.show() // silent since ever
	p.print(func() {})
	shown := out.Len()
	p.show()
	if !strings.Contains(out.String(), "it goes on") || out.Len() > shown {
		t.Errorf("got %q", out.String())
	}
}

func TestNoProgressWithoutTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := newProgress(w, func() string { t.Error("asked"); return "" })
	p.print(func() {})
	p.end()
	w.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(r); err != nil || got.Len() > 0 {
		t.Errorf("got %q, %v", got.String(), err)
	}
}

// TestFateOfALiveRun: what became of a write is told where an account came late, and the events that
// were drawn have another order than those that are kept.
func TestFateOfALiveRun(t *testing.T) {
	kept := overtaken("v", history.Corrupted)
	emitted := append(slices.Delete(slices.Clone(kept), 3, 4), kept[3]) // the end of a's tenure
	var out bytes.Buffer
	told := make(chan struct{})
	close(told)
	o := &output{Writer: &out}
	p := &printer{out: o, line: newProgress(&out, nil), timeline: terminal.New(o, terminal.Options{Width: 200}), drawn: true, told: told}
	defer p.line.end()
	p.step(emitted[:len(emitted)-1])
	p.step(emitted[len(emitted)-1:])
	p.result(resultOf(kept, nil))
	if want := "b's write is lost"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}
