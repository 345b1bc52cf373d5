package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/report/terminal"
)

// overtaken is a history in which a client that lost its lock writes over the
// holder's value. It is corrupted, with one violation.
func overtaken(variant string, expect string) []history.Event {
	run := &history.Run{Scenario: "s", Title: "t", Variant: variant, Lanes: []string{"etcd", "a", "b", "storage"}, Expect: history.Expect{Verdict: expect}}
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: run}}
	for i, client := range []string{"a", "b"} {
		tenure := history.Event{Lane: "etcd", Kind: history.KindGranted, Client: client, Tenure: "/l/" + client, Scope: "/l", Token: 2}
		told := history.Event{Lane: client, Kind: history.KindOK, Op: history.OpLock, Tenure: "/l/" + client, Scope: "/l", Token: 2}
		if events = append(events, tenure, told); i == 0 {
			tenure.Kind, tenure.Cause = history.KindEnded, history.CauseExpired
			events = append(events, tenure)
		}
	}
	for i, client := range []string{"b", "a"} {
		e := history.Event{Lane: client, Kind: history.KindInvoke, Op: history.OpWrite, Tenure: "/l/" + client, Request: client + "-1", Scope: "/l", Token: 2, Key: "k", Value: "from-" + client}
		done := e
		done.Lane, done.Kind, done.Client, done.Index = history.LaneStorage, history.KindApplied, client, int64(i+1)
		events = append(events, e, done)
	}
	return events
}

// cannotBeJudged is one in which the storage tells of what nobody asked for.
func cannotBeJudged() []history.Event {
	events := overtaken("odd", history.Corrupted)
	return slices.Delete(events, len(events)-2, len(events)-1)
}

// stopped is one of a run that could not go on.
func stopped() []history.Event {
	return append(overtaken("stopped", history.Safe)[:4], history.Event{Lane: history.LaneLab, Kind: history.KindError, Text: "no room"})
}

// inFile writes a history, and returns the file's name.
func inFile(t *testing.T, dir, name string, events []history.Event) string {
	t.Helper()
	var b bytes.Buffer
	if err := history.Write(&b, events); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// gcsim runs a command, and returns its exit status, what it printed and what is
// wrong.
func gcsim(t *testing.T, args ...string) (status int, printed string, wrong string) {
	t.Helper()
	return gcsimUntil(t.Context(), t, args...)
}

// gcsimUntil is gcsim, stopped at the end of a context.
func gcsimUntil(ctx context.Context, t *testing.T, args ...string) (status int, printed string, wrong string) {
	t.Helper()
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	cmd := command()
	var out bytes.Buffer
	cmd.SetIn(strings.NewReader("")) // whatever the test's is
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0, out.String(), ""
	}
	var exit *cli.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("no exit status: %v", err)
	}
	return exit.Code, out.String(), err.Error()
}

// TestCheckGoesOn: one bad file does not stop the others, and each is said, with
// what is wrong and where.
func TestCheckGoesOn(t *testing.T) {
	dir := t.TempDir()
	good := inFile(t, dir, "good", overtaken("good", history.Corrupted))
	other := inFile(t, dir, "other", overtaken("other", history.Safe))
	odd, end := inFile(t, dir, "odd", cannotBeJudged()), inFile(t, dir, "end", stopped())
	none := filepath.Join(dir, "none")
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		files         []string
		status        int
		drawn         int
		wrong, inText []string
	}{
		{[]string{good}, 0, 1, nil, []string{"verdict: corrupted, as expected", "APPLIED"}},
		{[]string{good, other}, 1, 2, []string{"1 of 2 runs did not come out as expected"}, []string{"NOT as expected"}},
		{[]string{none, good}, 2, 1, []string{none + ": open"}, []string{"verdict: corrupted, as expected"}},
		{[]string{text, good}, 2, 1, []string{text + ": history: line 1 is no event"}, []string{"verdict: corrupted, as expected"}},
		{[]string{odd, good}, 2, 2, []string{odd + ": the history cannot be judged:", "line 9: the storage tells of \"a-1\""}, []string{"verdict: not judged", "line 9", "verdict: corrupted, as expected"}},
		{[]string{end, other}, 2, 2, []string{end + ": no room"}, []string{"the run could not go on: no room", "verdict: not judged", "NOT as expected"}},
	} {
		status, printed, wrong := gcsim(t, append([]string{"check"}, tt.files...)...)
		if status != tt.status || strings.Count(printed, "verdict: ") != tt.drawn {
			t.Errorf("%v: exit status %d, want %d; %d verdicts, want %d:\n%s", tt.files, status, tt.status, strings.Count(printed, "verdict: "), tt.drawn, printed)
		}
		for _, want := range tt.wrong {
			if !strings.Contains(wrong, want) {
				t.Errorf("%v: no %q in the error %q", tt.files, want, wrong)
			}
		}
		for _, want := range tt.inText {
			if !strings.Contains(printed, want) {
				t.Errorf("%v: no %q in\n%s", tt.files, want, printed)
			}
		}

		picture := filepath.Join(dir, "picture.svg")
		_ = os.Remove(picture)
		status, _, wrong = gcsim(t, append([]string{"draw", "-o", picture}, tt.files...)...)
		svg, _ := os.ReadFile(picture)
		if n := strings.Count(string(svg), `class="v-`); n != tt.drawn || (status == 2) != (tt.status == 2) {
			t.Errorf("draw %v: exit status %d (%s), %d are drawn, want %d", tt.files, status, wrong, n, tt.drawn)
		}
	}
	if status, printed, _ := gcsim(t, "draw", none, text); status != 2 || printed != "" {
		t.Errorf("draw of nothing: exit status %d, printed %q", status, printed)
	}
}

// TestCheckReports: check has the reports of run, of files that run did not make.
func TestCheckReports(t *testing.T) {
	dir := t.TempDir()
	one, two := inFile(t, dir, "1", overtaken("v", history.Corrupted)), inFile(t, dir, "2", overtaken("v", history.Corrupted))
	odd := inFile(t, dir, "odd", cannotBeJudged())
	out, junit := filepath.Join(dir, "out"), filepath.Join(dir, "junit.xml")
	status, printed, _ := gcsim(t, "check", "--json", "--junit", junit, "-o", out, one, two, odd, filepath.Join(dir, "none"))
	if status != 2 {
		t.Errorf("exit status %d, want 2", status)
	}
	var got struct {
		OK      bool
		Summary string
		Runs    []struct {
			Service, Scenario, Variant, Verdict, Error, Fenced string
			Round                                              int
			Ordered, Exclusive                                 *bool
			Stale, Refused                                     *int
			Final                                              *map[string]string
			Violations                                         []string
		}
	}
	if err := json.Unmarshal([]byte(printed), &got); err != nil {
		t.Fatalf("%v in %s", err, printed)
	}
	if len(got.Runs) != 4 || got.OK || !strings.Contains(got.Summary, "2 could not be judged") {
		t.Fatalf("got %s", printed)
	}
	r := got.Runs[1]
	if r.Service != "etcd" || r.Variant != "v" || r.Round != 2 || r.Verdict != "corrupted" || r.Fenced != "yes" || len(r.Violations) != 1 ||
		*r.Ordered || !*r.Exclusive || *r.Stale != 0 || *r.Refused != 0 || len(*r.Final) != 0 {
		t.Errorf("got %+v", r)
	}
	if r := got.Runs[2]; r.Error == "" || r.Ordered != nil || r.Stale != nil || r.Fenced != "" || r.Final != nil {
		t.Errorf("without a verdict: got %+v", r)
	}
	want := []string{".", "index.html", "s", "s/index.html", "s/odd", "s/odd/history.jsonl", "s/v"}
	for _, round := range []string{"s/v/1", "s/v/2"} {
		want = append(want, round)
		for _, name := range []string{"history.jsonl", "porcupine.html", "timeline-narrow.svg", "timeline.svg", "verdict.json"} {
			want = append(want, round+"/"+name)
		}
	}
	if got := tree(t, out); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
	if b, err := os.ReadFile(junit); err != nil || strings.Count(string(b), "<testcase") != 4 {
		t.Errorf("JUnit: %s (%v)", b, err)
	}
}

// TestCheckKeepsHistories: what could not be read is not removed, and nothing is
// written by a name that leads elsewhere.
func TestCheckKeepsHistories(t *testing.T) {
	out := t.TempDir()
	if err := os.MkdirAll(filepath.Join(out, "s", "v", "1"), 0o777); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(out, "s", "v", "1", "history.jsonl")
	if err := os.WriteFile(bad, []byte("half a li"), 0o666); err != nil {
		t.Fatal(err)
	}
	good := inFile(t, t.TempDir(), "good", overtaken("v", history.Corrupted))
	if status, _, wrong := gcsim(t, "check", "-o", out, bad, good); status != 2 || !strings.Contains(wrong, "name another directory") {
		t.Errorf("exit status %d, %s", status, wrong)
	}
	if b, _ := os.ReadFile(bad); string(b) != "half a li" {
		t.Errorf("%s now holds %q", bad, b)
	}
	out = filepath.Join(t.TempDir(), "out")
	elsewhere := inFile(t, t.TempDir(), "elsewhere", overtaken("../../elsewhere", history.Corrupted))
	if status, _, wrong := gcsim(t, "check", "-o", out, elsewhere, good); status != 2 || !strings.Contains(wrong, `"../../elsewhere" is no name`) {
		t.Errorf("exit status %d, %s", status, wrong)
	}
	if got := tree(t, filepath.Dir(out)); !slices.Contains(got, "out/s/v/history.jsonl") || slices.Contains(got, "elsewhere") {
		t.Errorf("there is %q", got)
	}
}

// TestRunThatCannotBeJudged: that its history is no whole one is an error, though
// the run came to its end.
func TestRunThatCannotBeJudged(t *testing.T) {
	var invalid *history.InvalidError
	if r := resultOf(cannotBeJudged(), nil); !errors.As(r.Err, &invalid) {
		t.Errorf("got %v", r.Err)
	}
	why := errors.New("why")
	for _, events := range [][]history.Event{overtaken("v", history.Safe), stopped()} {
		if r := resultOf(events, why); !errors.Is(r.Err, why) || r.Outcome.Name != "" {
			t.Errorf("got %v, %s", r.Err, r.Outcome.Name)
		}
	}
}

// TestLiveHarm: a violation is drawn as soon as its step is over.
func TestLiveHarm(t *testing.T) {
	var out bytes.Buffer
	p := &printer{line: newProgress(&out, nil), timeline: terminal.New(&out, terminal.Options{Width: 200})}
	defer p.line.end()
	events := overtaken("v", history.Corrupted)
	p.step(events[:1])
	p.step(events[1 : len(events)-2])
	if strings.Contains(out.String(), "APPLIED") {
		t.Errorf("harm before there is any:\n%s", out.String())
	}
	p.step(events[len(events)-2:])
	if !strings.Contains(out.String(), "APPLIED unchecked: b's k=from-b is destroyed") {
		t.Errorf("no harm in\n%s", out.String())
	}
}

// unfair is a history in which a client gets the lock before another that had queued.
func unfair(fair bool) []history.Event {
	run := &history.Run{Scenario: "s", Title: "t", Variant: "v", Lanes: []string{"etcd", "a", "b", "c"}, Expect: history.Expect{Verdict: history.Safe, Fair: &fair}}
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: run}}
	for _, client := range []string{"a", "b", "c"} {
		events = append(events, history.Event{Lane: client, Kind: history.KindInvoke, Op: history.OpLock, Scope: "/l"})
	}
	for _, told := range []struct {
		kind   history.Kind
		client string
	}{
		{history.KindGranted, "a"}, {history.KindQueued, "b"}, {history.KindEnded, "a"},
		{history.KindGranted, "c"}, {history.KindEnded, "c"}, {history.KindGranted, "b"},
	} {
		events = append(events, history.Event{Lane: "etcd", Kind: told.kind, Client: told.client, Tenure: "/l/" + told.client, Scope: "/l", Token: 2})
	}
	return events
}

// TestCheckSaysWhetherGrantsAreFair: as a fact of its own, and at the grant that came
// too early.
func TestCheckSaysWhetherGrantsAreFair(t *testing.T) {
	for _, fair := range []bool{false, true} {
		file := inFile(t, t.TempDir(), "h", unfair(fair))
		var got struct {
			Runs []struct {
				Verdict    string
				Fair       *bool
				Mismatches []string
			}
		}
		status, printed, _ := gcsim(t, "check", "--json", file)
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			t.Fatalf("%v in %s", err, printed)
		}
		r := got.Runs[0]
		if (status == 0) == fair || r.Verdict != history.Safe || r.Fair == nil || *r.Fair || (len(r.Mismatches) == 1) != fair {
			t.Errorf("where it is expected that fair is %v: exit status %d, %+v", fair, status, r)
		}
		if _, drawn, _ := gcsim(t, "check", "--ascii", "--width", "120", file); !strings.Contains(drawn, "NOT FAIR") {
			t.Errorf("it is not drawn:\n%s", drawn)
		}
	}
	file := inFile(t, t.TempDir(), "h", overtaken("v", history.Corrupted))
	if _, printed, _ := gcsim(t, "check", "--json", file); strings.Contains(printed, `"fair"`) {
		t.Errorf("nobody queues, and it is said whether grants are fair: %s", printed)
	}
}

// TestCheckNamesBothLines: of two accounts that contradict each other both lines are named.
func TestCheckNamesBothLines(t *testing.T) {
	events := overtaken("v", history.Corrupted)
	events[2].Lane = "b" // what a was told
	file := inFile(t, t.TempDir(), "h", events)
	status, _, wrong := gcsim(t, "check", file)
	if want := "line 3, against line 2: b was told that it has the lock in /l/a, which the lock service granted to a"; status != 2 || !strings.Contains(wrong, want) {
		t.Errorf("exit status %d, %s, want %q", status, wrong, want)
	}
}

// unserved is overtaken, by an incident's logs: without the lock service's account, and nothing is expected.
func unserved() []history.Event {
	events := overtaken("", "")
	run := *events[0].Run
	run.Version, run.Tokens = history.Version, map[string]string{"a": history.ShowsGrant, "b": history.ShowsGrant}
	events[0].Run = &run
	events = slices.DeleteFunc(events, func(e history.Event) bool { return e.Lane == "etcd" })
	for i := range events {
		events[i].At = time.Duration(i) * time.Second
		if events[i].Lane == "b" || events[i].Client == "b" {
			events[i].Token = 3
		}
		events[i].Tenure = map[bool]string{false: events[i].Tenure}[events[i].Lane == history.LaneStorage]
	}
	return append(events, history.Event{At: 10 * time.Second, Lane: history.LaneLab, Kind: history.KindEnd})
}

// TestCheckAnIncident: a history of which nothing is expected came out neither as expected nor otherwise; without the lock
// service's account it is judged by the clients', and the holders have their own word.
func TestCheckAnIncident(t *testing.T) {
	served := overtaken("", "")
	for name, events := range map[string][]history.Event{"served": served, "unserved": unserved()} {
		dir := t.TempDir()
		file, out, junit := inFile(t, dir, "h", events), filepath.Join(dir, "out"), filepath.Join(dir, "junit.xml")
		status, printed, wrong := gcsim(t, "check", "--width", "100", "--ttl", "2s", "--skew", "0", "--junit", junit, "-o", out, file)
		report, err := os.ReadFile(junit)
		if err != nil {
			t.Fatal(err)
		}
		if status != 1 || strings.Contains(printed+wrong+string(report), "expected") || !strings.Contains(wrong, "1 of 1 runs are not safe") {
			t.Errorf("%s: exit status %d, %s in\n%s\n%s", name, status, wrong, printed, report)
		}
		if !strings.Contains(printed, "verdict: corrupted: b's write is lost") || strings.Contains(printed, "EXCLUSIVE") {
			t.Errorf("%s: no verdict, or the service is accused, in\n%s", name, printed)
		}
		if got := strings.Contains(printed, "holds the lock, by its own word"); got != (name == "unserved") {
			t.Errorf("%s: that holders have their own word is said: %v, in\n%s", name, got, printed)
		}
		for _, name := range []string{"s/history.jsonl", "s/timeline.svg", "s/index.html"} {
			if _, err := os.Stat(filepath.Join(out, name)); err != nil {
				t.Error(err)
			}
		}
	}
	file := inFile(t, t.TempDir(), "h", unserved())
	for _, tt := range []struct {
		flags     []string
		exclusive string
	}{{nil, "undecided"}, {[]string{"--skew", "0"}, "undecided"}, {[]string{"--skew", "0", "--ttl", "1s"}, "yes"}, {[]string{"--skew", "0", "--ttl", "9s"}, "no"}, {[]string{"--skew", "10s", "--ttl", "9s"}, "yes"}} {
		var got struct {
			OK   bool
			Runs []struct {
				Exclusive *bool
				Clients   struct{ Exclusive, Ordered string } `json:"by_clients"`
			}
		}
		_, printed, _ := gcsim(t, append([]string{"check", "--json", file}, tt.flags...)...)
		if err := json.Unmarshal([]byte(printed), &got); err != nil {
			t.Fatalf("%v in %s", err, printed)
		}
		if r := got.Runs[0]; got.OK || r.Exclusive != nil || r.Clients.Exclusive != tt.exclusive {
			t.Errorf("%v: got %+v, want exclusive: %s", tt.flags, r, tt.exclusive)
		}
	}
}
