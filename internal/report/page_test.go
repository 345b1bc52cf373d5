package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/page"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// results are what a run of several scenarios may come to.
func results(t *testing.T) []story.Result {
	t.Helper()
	var list []story.Result
	for _, name := range []string{"fenced", "unfenced", "faults", "eight"} {
		d := load(t, name)
		run := d.Events[0].Run
		list = append(list, story.Result{Scenario: run.Scenario, Title: run.Title, Variant: run.Variant, Control: run.Control,
			Took: 1440 * time.Millisecond, Events: d.Events, Outcome: d.Outcome})
	}
	run := counting(40)
	failed := load(t, "error")
	return append(list,
		story.Result{Scenario: "21-healthy", Title: "Five clients count", Variant: "paused", Round: 1, Took: 3 * time.Second, Events: run.Events, Outcome: run.Outcome},
		story.Result{Scenario: "21-healthy", Title: "Five clients count", Variant: "paused", Round: 2, Took: 3 * time.Second, Events: run.Events, Outcome: run.Outcome},
		story.Result{Scenario: "21-healthy", Title: "Five clients count", Variant: "paused", Round: 3, Took: 3 * time.Second, Events: run.Events, Outcome: story.Outcome{Name: history.Corrupted, Violations: []history.Violation{{Kind: history.Lost, Text: "an increment is lost"}}}},
		story.Result{Scenario: "13-leader-paused", Title: "etcd's leader is stopped", Variant: "fenced", Skipped: "--endpoints: this etcd's members are not ours to stop"},
		story.Result{Scenario: "05-lease-id-token", Title: "Lease IDs are no tokens", Variant: "leases", Took: time.Second, Events: failed.Events, Err: errors.New("etcd: no free port")},
	)
}

// chapters is where those are that the pages of these tests link to.
const chapters = "https://example.org/docs/"

// chapter has scenarios of ours explained.
func chapter(scenario string) string {
	if !ours.MatchString(scenario) {
		return ""
	}
	return chapters + scenario + ".md"
}

var ours = regexp.MustCompile(`^\d\d-[a-z-]+$`)

type write func(io.Writer, []story.Result, func(scenario string) string) error

func pageOf(t *testing.T, write write, results []story.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out, results, chapter); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// ofScenario are the results of one scenario.
func ofScenario(t *testing.T, name string) []story.Result {
	return slices.DeleteFunc(results(t), func(r story.Result) bool { return r.Scenario != name })
}

func TestDir(t *testing.T) {
	for want, r := range map[string]story.Result{
		"01-gc-pause/fenced":    {Scenario: "01-gc-pause", Variant: "fenced"},
		"01-gc-pause/fenced/20": {Scenario: "01-gc-pause", Variant: "fenced", Round: 20},
	} {
		if got := r.Dir(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPageWriteError(t *testing.T) {
	for _, write := range []write{page.Index, page.Scenario} {
		if err := write(closed{}, results(t)[:1], chapter); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	}
}

// TestPageGolden: a page has its style and its scripts to the letter, and a golden file has their names there. The
// style's digest, in the page's policy, is in the golden file as well.
func TestPageGolden(t *testing.T) {
	style := map[string]string{"Style": page.Style()}
	golden.Check(t, "testdata/style.css", named(t, page.Style(), files(t, "page/page.css", "page/page-dark.css", "svg/diagram.css", "svg/diagram-dark.css")))
	shown := named(t, pageOf(t, page.Scenario, results(t)[:1]), style)
	golden.Check(t, "testdata/page.html", named(t, shown, files(t, "page/theme.js", "page/steps.js")))
	index := named(t, pageOf(t, page.Index, results(t)[:2]), style)
	golden.Check(t, "testdata/index.html", named(t, index, files(t, "page/theme.js", "page/filter.js")))
}

// files are the texts of files, by their names.
func files(t *testing.T, names ...string) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// named is a page with names where its texts are. The page must have each text, and none of the names.
func named(t *testing.T, written string, texts map[string]string) string {
	t.Helper()
	for name, text := range texts {
		name = "{{" + name + "}}\n"
		if !strings.Contains(written, text) || strings.Contains(written, name) {
			t.Errorf("not the text of %s, or its name", name)
		}
		written = strings.ReplaceAll(written, text, name)
	}
	return written
}

// wantInOrder wants a text to have parts, one after the other.
func wantInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("no %q, or not in its order, in\n%s", part, text)
			return
		}
		rest = after
	}
}

// TestIndex: what is not as expected comes first, then the lock services, each with its
// scenarios, each with its control first, and with many rounds in one entry.
func TestIndex(t *testing.T) {
	list := results(t)
	for i := range list {
		list[i].Service = map[bool]string{true: "redis", false: "etcd"}[list[i].Scenario == "21-healthy"]
	}
	got := pageOf(t, page.Index, list)
	wantInOrder(t, got,
		"<p>8 runs of 5 scenarios: ", "1 NOT as expected, 1 could not be run; 1 left out: --endpoints: this etcd&#39;s members are not ours to stop</p>",
		"Look here first:</b>", ">05-lease-id-token</a>", ">21-healthy</a></p>",
		`<a href="#service1">etcd</a>`, `<a href="#service2">redis</a>`,
		"<h2>etcd <small>", "<h2>redis <small>3 runs of 1 scenario: ",
	)
	for scenario, parts := range map[string][]string{
		"A paused holder wakes up": {"unfenced (the control) <b class=\"bad\">corrupted</b></span>", "fenced <b class=\"good\">safe</b></span>", "</summary>",
			`href="./01-paused-holder/index.html#r1"`, `srcset="./01-paused-holder/unfenced/timeline-narrow.svg"`, `<img loading="lazy" src="./01-paused-holder/unfenced/timeline.svg"`},
		"Five clients count":       {"paused <b class=\"good\">safe</b></span>", "<b class=\"bad\">NOT as expected</b></span>", "</summary>", `href="https://example.org/docs/21-healthy.md"`, "2 rounds"},
		"etcd&#39;s leader is sto": {"<b class=\"\">left out</b></span></span></summary>", "--endpoints: this etcd"},
		"Lease IDs are no tokens":  {"<b class=\"bad\">failed</b>", "</summary>", "etcd: no free port", `href="./05-lease-id-token/index.html"`},
	} {
		_, rest, _ := strings.Cut(got, "<summary>"+scenario)
		rest, _, _ = strings.Cut(rest, "</details>")
		wantInOrder(t, rest, parts...)
	}
	if n := strings.Count(got, "<details "); n != 6 || strings.Count(got, " open>") != 2 {
		t.Errorf("%d scenarios, want 6, of which the 2 with runs that are not as expected are open", n)
	}
	if strings.Contains(got, "05-lease-id-token/leases/timeline") || strings.Contains(got, "13-leader-paused/index.html") || strings.Contains(got, "<line") {
		t.Error("pictures that are not there, or are part of the page, or a page of a scenario that was left out")
	}
	if got != pageOf(t, page.Index, list) {
		t.Error("two pages of the same results differ")
	}
}

// TestScenarioPage: the page has all rounds, and draws the first one and those that are not as expected.
func TestScenarioPage(t *testing.T) {
	healthy := pageOf(t, page.Scenario, ofScenario(t, "21-healthy"))
	wantInOrder(t, healthy, `<a href="../index.html">All runs</a>`, "<h1>Five clients count",
		`<a href="https://example.org/docs/21-healthy.md">Its chapter</a>. Run it again: <code>gcsim run 21-healthy</code>`,
		"round 1", `href="../21-healthy/paused/1/history.jsonl"`, "round 2", "round 3", "NOT as expected", `href="../21-healthy/paused/3/porcupine.html"`)
	if got := strings.Count(healthy, "<figure class=\"wide\""); got != 2 {
		t.Errorf("%d rounds are drawn, want 2", got)
	}
	broken := pageOf(t, page.Scenario, ofScenario(t, "05-lease-id-token"))
	wantInOrder(t, broken, "etcd: no free port", "<figure class=\"wide\"", `href="../05-lease-id-token/leases/history.jsonl"`)
	if strings.Contains(broken, "leases/verdict.json") {
		t.Error("links to files of a run that was not made")
	}
	wantInOrder(t, pageOf(t, page.Scenario, ofScenario(t, "99-faults")), "<p>One of each, to see how it is drawn.</p>", "Source: nowhere")
	mine := ofScenario(t, "21-healthy")
	mine[0].Scenario = "mine.x"
	if strings.Contains(pageOf(t, page.Scenario, mine[:1]), "gcsim run mine") {
		t.Error("the page speaks of a chapter that is not there")
	}
}
