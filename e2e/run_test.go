package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/report/junittest"
)

// scenarioDir writes the main story under several names, each with changes: pairs
// of what is there and what to have instead.
func scenarioDir(t *testing.T, changes map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	story := read(t, "../scenarios/etcd/01-gc-pause.yaml")
	for name, pairs := range changes {
		changed := strings.NewReplacer(pairs...).Replace(story)
		if len(pairs) > 0 && changed == story {
			t.Fatalf("the scenario has none of %q", pairs)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// asExpected is a scenario as it is; surprising is one that expects what does not
// come.
var (
	asExpected = []string{}
	surprising = []string{"stale: 1, fenced: true, final: {key0: from-client-2}", "stale: 2, fenced: true, final: {key0: <else>}", "from-client-1", "<else>"}
)

// TestRunReports: what a CI job reads of a run of several scenarios, of which one
// does not come out as expected.
func TestRunReports(t *testing.T) {
	t.Parallel()
	w, out, summary := newWorld(t), filepath.Join(t.TempDir(), "new", "out"), filepath.Join(t.TempDir(), "summary.md")
	w.env = append(w.env, "GITHUB_STEP_SUMMARY="+summary)
	if err := os.WriteFile(summary, []byte("the step before\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(out, "one", "fenced", "7", "history.jsonl")
	if err := os.MkdirAll(filepath.Dir(stale), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	junit := filepath.Join(t.TempDir(), "reports", "junit.xml")
	p := w.start("gcsim", "run", "-o", out, "--junit", junit, scenarioDir(t, map[string][]string{"one": asExpected, "two": surprising}))
	p.want(1)
	p.says(
		"one  fenced    safe, as expected",
		"one  unfenced  corrupted, as expected of the control",
		"two  fenced    safe, NOT as expected",
		"4 runs of 2 scenarios in ", ": 1 NOT as expected",
		"two fenced: safe, NOT as expected\n  requests refused as stale: 1, expected 2\n",
		"gcsim: 1 of 4 runs did not come out as expected",
	)
	if n := strings.Count(p.output(), "verdict: "); n != 1 {
		t.Errorf("%d runs are drawn, want the one that is not as expected:\n%s", n, p.output())
	}

	var files []string
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err != nil || info.Size() == 0 {
				t.Errorf("%s is empty (%v)", path, err)
			}
			files = append(files, strings.TrimPrefix(path, out+"/"))
		}
		return err
	})
	want := []string{"index.html", "one/index.html", "two/index.html"}
	for _, run := range []string{"one/fenced/", "one/unfenced/", "two/fenced/", "two/unfenced/"} {
		for _, name := range []string{"history.jsonl", "porcupine.html", "timeline-narrow.svg", "timeline.svg", "verdict.json"} {
			want = append(want, run+name)
		}
	}
	slices.Sort(want)
	if slices.Sort(files); err != nil || !slices.Equal(files, want) {
		t.Errorf("in -o there are %q (%v), want %q", files, err, want)
	}
	for _, name := range files {
		if strings.Contains(read(t, filepath.Join(out, name)), "\x00") {
			t.Errorf("%s is no text", name)
		}
	}
	validJUnit(t, junit)
	if xml := read(t, junit); !strings.Contains(xml, `name="two"`) || strings.Count(xml, "<failure ") != 1 || !strings.Contains(xml, "expected &#34;&lt;else&gt;&#34;") {
		t.Errorf("JUnit:\n%s", xml)
	}
	if md := read(t, summary); !strings.HasPrefix(md, "the step before\n") || !strings.Contains(md, "| etcd/two | fenced | safe, NOT as expected |") {
		t.Errorf("job summary:\n%s", md)
	}
}

// validJUnit holds a file to what the schemas in use agree on.
func validJUnit(t *testing.T, name string) {
	t.Helper()
	if err := junittest.Check([]byte(read(t, name))); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// TestRepeatAsJSON: standard output is one JSON document, and nothing else.
func TestRepeatAsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "gcsim"), "run", "--json", "--repeat", "2", "--seed", "5", "-j", "2", "gc-pause")
	cmd.Env = append(os.Environ(), w.env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OK   bool
		Runs []struct {
			Scenario, Variant, Verdict string
			Round                      int
			OK                         bool
			Seconds                    float64
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if !doc.OK || len(doc.Runs) != 4 {
		t.Fatalf("got %+v", doc)
	}
	for i, want := range []struct{ variant, verdict string }{{"fenced", "safe"}, {"fenced", "safe"}, {"unfenced", "corrupted"}, {"unfenced", "corrupted"}} {
		r := doc.Runs[i]
		if r.Scenario != "01-gc-pause" || r.Variant != want.variant || r.Verdict != want.verdict || r.Round != i%2+1 || !r.OK || r.Seconds <= 0 {
			t.Errorf("run %d: %+v", i, r)
		}
	}
}

func TestRepeatCounts(t *testing.T) {
	t.Parallel()
	p := newWorld(t).start("gcsim", "run", "--repeat", "3", "gc-pause")
	p.want(0)
	p.says("01-gc-pause  fenced #3", "01-gc-pause  fenced       3 of 3 safe, as expected\n", "6 runs of 1 scenario in ")
}

// TestBrokenFileIsTold: before anything runs.
func TestBrokenFileIsTold(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t), filepath.Join(t.TempDir(), "out")
	dir := scenarioDir(t, map[string][]string{"fine": asExpected, "wrong": {"client2: lock\n", "client2: luck\n"}})
	p := w.start("gcsim", "run", "-o", out, dir)
	p.want(2)
	p.says(filepath.Join(dir, "wrong.yaml") + ":")
	if line := p.await("wrong.yaml:"); !strings.Contains(line, `wrong.yaml:28:14: a client cannot "luck"`) {
		t.Errorf("got %q", line)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}

// TestRunsInterrupted: Ctrl-C in the middle of several scenarios. newWorld sees
// that nothing is left; what there is, is saved.
func TestRunsInterrupted(t *testing.T) {
	t.Parallel()
	w, out := newWorld(t), t.TempDir()
	junit := filepath.Join(out, "junit.xml")
	endless := []string{"ttl: 1s", "ttl: 600s"} // no lease expires before the test is over
	dir := scenarioDir(t, map[string][]string{"a": asExpected, "b": endless, "c": endless, "d": endless})
	p := w.start("gcsim", "run", "-j", "4", "-o", out, "--junit", junit, dir)
	p.await("a  unfenced  corrupted") // both of a are over
	w.awaitStopped("client agent --name client1", 4)
	p.signal(syscall.SIGINT)
	p.want(130)
	p.says("stopped before all was told: 2 of 8 runs were over")
	validJUnit(t, junit)
	for _, name := range []string{"a/fenced/history.jsonl", "a/fenced/verdict.json", "b/fenced/history.jsonl", "index.html"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "b", "fenced", "verdict.json")); err == nil {
		t.Error("a run that was broken off has a verdict")
	}
}

// awaitStopped waits until so many processes that run a command stand still.
func (w *world) awaitStopped(args string, n int) {
	w.t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		stopped := 0
		for _, pid := range w.processes() {
			cmdline, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
			stat, _ := os.ReadFile("/proc/" + itoa(pid) + "/stat")
			_, rest, _ := strings.Cut(strings.ReplaceAll(string(cmdline), "\x00", " "), " ")
			if strings.HasPrefix(rest, args) && strings.Contains(string(stat), ") T ") {
				stopped++
			}
		}
		if stopped == n {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			w.t.Fatalf("%d processes that run %q stand still, want %d", stopped, args, n)
		}
	}
}

// TestRunOnForeignEtcd: what needs an etcd of its own is left out by name.
func TestRunOnForeignEtcd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint, client := w.etcd()
	dir := scenarioDir(t, map[string][]string{"here": asExpected, "three": {"members: 1", "members: 3"}})
	p := w.start("gcsim", "run", "--endpoints", endpoint, dir)
	p.want(0)
	p.says("here   fenced    safe, as expected", "here   unfenced  corrupted, as expected of the control",
		"2 runs of 1 scenario in ", "all as expected; 2 left out: it wants 3 etcd members\n  three fenced, three unfenced\n")
	got, err := client.Get(t.Context(), "nothing")
	if err != nil || got.Header.Revision < 5 {
		t.Errorf("that etcd is at revision %v (%v): the runs did not use it", got.Header, err)
	}
}

// TestScenarioFromTemplate: what gcsim writes to begin with, it runs, and it does not
// overwrite it.
func TestScenarioFromTemplate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := func(args ...string) *process {
		p := w.prepare("gcsim", args...)
		p.cmd.Dir = w.tmp
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := in("new", "mine")
	p.want(0)
	p.says("gcsim run mine.yaml")
	again := in("new", "mine")
	again.want(2)
	again.says("mine.yaml is there already")
	bad := in("new", "../Mine")
	bad.want(2)
	bad.says(`"../Mine" is no name`)
	explain := in("explain", "mine.yaml")
	explain.want(0)
	explain.says("What happens:", "Variants:", "(the control)", "gcsim run mine.yaml")
	run := in("run", "mine.yaml")
	run.want(0)
	run.says("verdict: corrupted, as expected of the control", "verdict: safe, as expected")
	if err := os.Remove(filepath.Join(w.tmp, "mine.yaml")); err != nil {
		t.Fatal(err)
	}
}

func TestExplainAndList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start("gcsim", "explain", "gc-pause")
	p.want(0)
	p.says("etcd/1 gc-pause: A paused lock holder", "What happens:\n  client1 takes the lock", "Source:\n  Martin Kleppmann",
		"unfenced (the control): the storage checks no tokens.\n    It must fail so: corrupted", "gcsim run gc-pause\n")
	for line := range strings.Lines(p.output()) {
		if len(line) > 81 {
			t.Errorf("longer than 80 columns: %q", line)
		}
	}
	list := w.start("gcsim", "list")
	list.want(0)
	if line := list.await("etcd/1 "); !strings.Contains(line, "gc-pause ") || !strings.Contains(line, "A paused lock holder") {
		t.Errorf("list says %q", line)
	}
	schema := w.start("gcsim", "schema")
	schema.want(0)
	if !json.Valid([]byte(schema.output())) {
		t.Errorf("no JSON: %s", schema.output())
	}
}
