package report

import (
	"bytes"
	"errors"
	"io"
	"regexp"
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

func pageOf(t *testing.T, results []story.Result) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, results, chapter); err != nil {
		t.Fatal(err)
	}
	return out.String()
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
	if err := page.Write(closed{}, nil, chapter); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

func TestPageGolden(t *testing.T) {
	golden.Check(t, "testdata/page.html", pageOf(t, results(t)[:1]))
}

// TestPageBeginsWithTitles: the table has a row for each scenario, with its title,
// what came of each variant, of many rounds in one entry, and its chapter.
func TestPageBeginsWithTitles(t *testing.T) {
	list := results(t)
	list[0].Scenario, list[1].Scenario = "mine.x", "mine.x"
	page := pageOf(t, list)
	_, table, _ := strings.Cut(page, "<tbody>")
	table, sections, _ := strings.Cut(table, "</tbody>")
	if rows := strings.Count(table, "<tr>"); rows != 6 {
		t.Errorf("%d rows, want one for each of 6 scenarios", rows)
	}
	for row, want := range map[string][]string{
		"Five clients count":                               {"21-healthy", `href="https://example.org/docs/21-healthy.md"`, ">safe</b>", "2 rounds", ">corrupted</b>, <span class=\"bad\">NOT as expected"},
		"etcd&#39;s leader is sto":                         {">skipped</b>: --endpoints: this etcd"},
		"Lease IDs are no tokens":                          {">failed</b>: etcd: no free port"},
		"A paused holder wakes up after its lease expired": {"mine.x</small>", ">safe</b>, <span class=\"good\">as expected</span> <small>1.44 s", ">corrupted</b>, <span class=\"good\">as expected of the control"},
	} {
		_, rest, found := strings.Cut(table, ">"+row)
		rest, _, _ = strings.Cut(rest, "</tr>")
		for _, words := range want {
			if !found || !strings.Contains(rest, words) {
				t.Errorf("the row of %q does not have %q: %s", row, words, rest)
			}
		}
	}
	if strings.Contains(sections, "gcsim run mine") || !strings.Contains(sections, `<a href="https://example.org/docs/21-healthy.md">Its chapter</a>. Run it again: <code>gcsim run 21-healthy</code>`) {
		t.Error("the sections do not say where the chapters are, or speak of one that is not there")
	}
}

func TestPageSays(t *testing.T) {
	page := pageOf(t, results(t))
	for _, want := range []string{
		"6 of 9 runs as expected",
		"--endpoints: this etcd&#39;s members are not ours to stop",
		"etcd: no free port",
		"<p>One of each, to see how it is drawn.</p>", "Source: nowhere",
		`href="./99-faults/fenced/history.jsonl"`, `href="./21-healthy/paused/3/porcupine.html"`, `href="./05-lease-id-token/leases/history.jsonl"`,
		"NOT as expected", "an increment is lost", "paused, round 2",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "lease-id-token/leases/verdict.json") || strings.Contains(page, "13-leader-paused/fenced/") {
		t.Error("links to files of a run that was not made")
	}
	// Of several rounds only the first and those that failed are drawn.
	if got := strings.Count(page, "<figure class=\"wide\""); got != 7 {
		t.Errorf("%d runs are drawn, want 7", got)
	}
	if page != pageOf(t, results(t)) {
		t.Error("two pages of the same results differ")
	}
}
