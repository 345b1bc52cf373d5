package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"

	"github.com/fencelab/fencelab/internal/history"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update where the change is meant):\n%s", file, diff)
	}
}

// load reads a history of testdata and gives it a verdict.
func load(t *testing.T, name string) Drawing {
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
	outcome := Outcome{Name: events[0].Run.Expect.Verdict, OK: true}
	switch name {
	case "unfenced":
		outcome.Violations = []string{"client1's write of key0 (token 5) was applied after client2's (token 9)"}
	case "error":
		outcome = Outcome{Name: "blocked", Mismatches: []string{"verdict: want safe, got blocked", "stale: want 1, got 0"}}
	}
	return Drawing{events, outcome}
}

// show draws a history as a live run would, event by event.
func show(t *testing.T, d Drawing, o Options) string {
	t.Helper()
	var out bytes.Buffer
	term := NewTerminal(&out, o)
	if err := term.Begin(*d.Events[0].Run); err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Events {
		if err := term.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := term.End(d.Outcome); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func svg(t testing.TB, drawings ...Drawing) string {
	t.Helper()
	var out bytes.Buffer
	if err := SVG(&out, drawings...); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// stories are the histories of testdata.
var stories = []string{"fenced", "unfenced", "killed", "gc", "error", "read", "unicode", "eight", "faults"}

func TestTerminalGolden(t *testing.T) {
	for _, name := range stories {
		t.Run(name, func(t *testing.T) { golden(t, name+".80.txt", show(t, load(t, name), Options{})) })
	}
	for name, o := range map[string]Options{
		"fenced.60.txt":  {Width: 60},
		"fenced.120.txt": {Width: 120},
		"fenced.ascii":   {ASCII: true},
		"fenced.ansi":    {Profile: colorprofile.ANSI},
	} {
		t.Run(name, func(t *testing.T) { golden(t, name, show(t, load(t, "fenced"), o)) })
	}
	t.Run("unicode.ascii", func(t *testing.T) { golden(t, "unicode.ascii", show(t, load(t, "unicode"), Options{ASCII: true})) })
	for name, o := range map[string]Options{"faults.60.txt": {Width: 60}, "faults.200.txt": {Width: 200}, "faults.ascii": {ASCII: true}} {
		t.Run(name, func(t *testing.T) { golden(t, name, show(t, load(t, "faults"), o)) })
	}
	t.Run("eight.60.txt", func(t *testing.T) { golden(t, "eight.60.txt", show(t, load(t, "eight"), Options{Width: 60})) })
}

func TestSVGGolden(t *testing.T) {
	golden(t, "main.svg", svg(t, load(t, "fenced"), load(t, "unfenced")))
	for _, name := range []string{"killed", "error", "unicode", "eight", "faults"} {
		golden(t, name+".svg", svg(t, load(t, name)))
	}
}
