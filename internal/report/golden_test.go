package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// load reads a history of testdata, and judges it where it has no error.
func load(t *testing.T, name string) story.Drawing {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err := history.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if last := events[len(events)-1]; last.Kind == history.KindError {
		return story.Result{Events: events, Err: errors.New(last.Text)}.Drawing()
	}
	return story.Drawing{Events: events, Outcome: outcomeOf(events)}
}

// outcomeOf judges a history.
func outcomeOf(events []history.Event) story.Outcome {
	v := verdict.Judge(events)
	return story.Outcome{Name: v.Name, OK: v.OK(), Violations: v.Violations, Mismatches: v.Mismatches}
}

// TestHistoriesAreValid: the examples are histories that can be judged.
func TestHistoriesAreValid(t *testing.T) {
	for _, name := range stories {
		for _, p := range history.Check(load(t, name).Events) {
			t.Errorf("%s, line %d: %s", name, p.Line, p.Text)
		}
	}
}

// show draws histories, one after the other.
func show(t *testing.T, o terminal.Options, drawings ...story.Drawing) string {
	t.Helper()
	var out bytes.Buffer
	term := terminal.New(&out, o)
	for _, d := range drawings {
		if err := term.Add(d.Events, d.Outcome.Violations); err != nil {
			t.Fatal(err)
		}
		if err := term.End(d); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func drawn(t testing.TB, drawings ...story.Drawing) string {
	t.Helper()
	var out bytes.Buffer
	if err := svg.Write(&out, svg.Wide, drawings...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// stories are the histories of testdata.
var stories = []string{"fenced", "unfenced", "killed", "gc", "error", "read", "unicode", "eight", "faults", "blocked"}

func TestTerminalGolden(t *testing.T) {
	for _, name := range stories {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "testdata/"+name+".80.txt", show(t, terminal.Options{}, load(t, name)))
		})
	}
	for name, o := range map[string]terminal.Options{
		"fenced.40.txt":  {Width: 40},
		"fenced.50.txt":  {Width: 50},
		"fenced.120.txt": {Width: 120},
		"fenced.ascii":   {ASCII: true},
		"fenced.ansi":    {Profile: colorprofile.ANSI},
	} {
		t.Run(name, func(t *testing.T) { golden.Check(t, "testdata/"+name, show(t, o, load(t, "fenced"))) })
	}
	t.Run("unicode.ascii", func(t *testing.T) {
		golden.Check(t, "testdata/unicode.ascii", show(t, terminal.Options{ASCII: true}, load(t, "unicode")))
	})
	for name, o := range map[string]terminal.Options{"faults.60.txt": {Width: 60}, "faults.200.txt": {Width: 200}, "faults.ascii": {ASCII: true}} {
		t.Run(name, func(t *testing.T) { golden.Check(t, "testdata/"+name, show(t, o, load(t, "faults"))) })
	}
	for name, width := range map[string]int{"eight.60.txt": 60, "eight.40.txt": 40} {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "testdata/"+name, show(t, terminal.Options{Width: width}, load(t, "eight")))
		})
	}
	// Two of one scenario and one of another: what was said is not said again.
	t.Run("three.80.txt", func(t *testing.T) {
		golden.Check(t, "testdata/three.80.txt", show(t, terminal.Options{}, load(t, "unfenced"), load(t, "fenced"), load(t, "blocked")))
	})
}

func TestSVGGolden(t *testing.T) {
	golden.Check(t, "testdata/main.svg", drawn(t, load(t, "fenced"), load(t, "unfenced")))
	for _, name := range []string{"killed", "error", "unicode", "eight", "faults", "blocked"} {
		golden.Check(t, "testdata/"+name+".svg", drawn(t, load(t, name)))
	}
}

func TestNarrowGolden(t *testing.T) {
	for name, drawings := range map[string][]story.Drawing{
		"main":   {load(t, "fenced"), load(t, "unfenced")},
		"eight":  {load(t, "eight")},
		"faults": {load(t, "faults")},
	} {
		var out bytes.Buffer
		if err := svg.Write(&out, svg.Narrow, drawings...); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/"+name+"-narrow.svg", out.String())
	}
}
