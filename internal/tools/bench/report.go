package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// report is what a run found, for people.
type report struct {
	machine []string // one line each
	goals   []goal
	parts   []*table
}

// table is a part of the report. Without columns it has the note alone.
type table struct {
	title, note string
	columns     []string
	rows        [][]string
	pairs       bool // a row has the reference's rate, too, which has no row of its own
}

func (r *report) table(title, note string, columns ...string) *table {
	t := &table{title: title, note: note, columns: columns}
	r.parts = append(r.parts, t)
	return t
}

// unless notes in the report that err is something missing, if it is; else it returns err.
func (r *report) unless(title string, err error) error {
	if lack, ok := errors.AsType[missing](err); ok {
		r.table(title, "Not measured: "+string(lack)+".")
		return nil
	}
	return err
}

// lackOf is what a note says of something that is missing, and nothing if err is nil. It fails by
// any other error.
func lackOf(name string, err error) string {
	if lack, ok := errors.AsType[missing](err); ok {
		return fmt.Sprintf(" Not measured is %s: %s.", name, lack)
	}
	named(name, err)
	return ""
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// figure is what a cell tells of a result, beside that of the reference.
type figure func(r, reference result) string

// The rate and the time of an operation as parts of the reference's, the reference's rate, and the operation's
// processor time.
var (
	partOf        figure = func(r, of result) string { return ratios(r.rates, of.rates).String() }
	rateBeside    figure = func(_, of result) string { return rate(of.rates) }
	timeOf        figure = func(r, of result) string { return ratios(of.rates, r.rates).String() }
	processorTime figure = func(r, _ result) string { return micros(r.server) + ", " + micros(r.client) }
)

// compare adds a row for each result: what leads, its name and its rate, and figures.
func (t *table) compare(lead []string, results []result, reference result, figures ...figure) {
	if t.pairs {
		results, figures = results[:1], append([]figure{rateBeside}, figures...)
	}
	for _, r := range results {
		cells := append(slices.Clone(lead), r.name, rate(r.rates))
		for _, tell := range figures {
			cells = append(cells, tell(r, reference))
		}
		t.add(cells...)
	}
}

// goal is of one measure. Those of the same in several cases, such as with few and with many
// connections, stand in one row.
type goal struct {
	what string
	of   string // the case
	aim  aim
	want float64
	got  spread
}

// aim is on which side of the wanted ratio the good ones are, and which of a spread's figures has
// to be there.
type aim struct {
	side, by string
	figure   func(spread) float64
}

var (
	atLeast    = aim{"at least", "", func(s spread) float64 { return s.median }}
	firmly     = aim{"at least", ", with the lower quartile", func(s spread) float64 { return s.lower }}
	atMost     = aim{"at most", "", func(s spread) float64 { return s.median }}
	neverAbove = aim{"at most", ", in every turn", func(s spread) float64 { return s.highest }}
)

func (r *report) goal(what, of string, a aim, want float64, got spread) {
	r.goals = append(r.goals, goal{what, of, a, want, got})
}

// reach adds a goal for the rate of a contender as a part of that of the reference, or for the time
// of an operation, of which it wants so much at most.
func (r *report) reach(g goal, ours, reference result) {
	if g.aim.side == atMost.side {
		ours, reference = reference, ours
	}
	r.goal(g.what, g.of, g.aim, g.want, ratios(ours.rates, reference.rates))
}

func (g goal) reached() string {
	got := g.aim.figure(g.got)
	if g.aim.side == atLeast.side && got >= g.want || g.aim.side == atMost.side && got <= g.want {
		return "yes"
	}
	return "no"
}

func (r *report) markdown() string {
	var s strings.Builder
	for _, line := range r.machine {
		fmt.Fprintf(&s, "- %s\n", line)
	}
	goals := table{columns: []string{"", "wanted", "of", "measured: median (quartiles)", "reached"}}
	for _, g := range r.goals {
		goals.join(g.what, fmt.Sprintf("%s %s%s", g.aim.side, number(g.want), g.aim.by), g.of, g.got.String(), g.reached())
	}
	if goals.rows != nil {
		goals.markdown(&s)
	}
	for _, t := range r.parts {
		fmt.Fprintf(&s, "\n### %s\n\n%s\n", t.title, t.note)
		if t.columns != nil {
			t.markdown(&s)
		}
	}
	return s.String()
}

// join adds cells to those of the row of the same measure and wish, if there is one, else a row.
func (t *table) join(what, wanted string, cells ...string) {
	i := slices.IndexFunc(t.rows, func(row []string) bool { return row[0] == what && row[1] == wanted })
	if i < 0 {
		t.add(append([]string{what, wanted}, cells...)...)
		return
	}
	for n, cell := range cells {
		t.rows[i][2+n] += "<br>" + cell
	}
}

func (t *table) markdown(s *strings.Builder) {
	line := func(cells []string) { fmt.Fprintf(s, "| %s |\n", strings.Join(cells, " | ")) }
	s.WriteString("\n")
	line(t.columns)
	s.WriteString("|" + strings.Repeat("---|", len(t.columns)) + "\n")
	for _, row := range t.rows {
		line(row)
	}
}

// The lines of a document between which the tables are.
const (
	markBegin = "<!-- bench: begin -->"
	markEnd   = "<!-- bench: end -->"
)

func replace(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), markBegin)
	_, after, ok2 := strings.Cut(rest, markEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q, between which the tables belong", path, markBegin, markEnd)
	}
	return os.WriteFile(path, []byte(before+markBegin+"\n"+text+markEnd+after), 0o644)
}

// String has no quartiles where all figures are the same, as of a ratio to itself.
func (s spread) String() string {
	if s.lower == s.upper {
		return fmt.Sprintf("**%s**", number(s.median))
	}
	return fmt.Sprintf("**%s** (%s to %s)", number(s.median), number(s.lower), number(s.upper))
}

// rate is a median with thousands marked.
func rate(values []float64) string { return thousands(spreadOf(values).median) }

func thousands(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func micros(values []float64) string { return number(spreadOf(values).median) + " µs" }

func number(v float64) string {
	switch {
	case v >= 100:
		return thousands(v)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// describe tells the machine on which a run is measured. The run's files are in dir.
func describe(dir string) []string {
	redis := "not installed"
	if path := redisproc.Program(); path != "" {
		says, err := exec.Command(path, "--version").Output()
		redis = first(`v=(\S+)`, says, err, "of an unknown version")
	}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	load, err2 := os.ReadFile("/proc/loadavg")
	return []string{
		fmt.Sprintf("%s; %d cores of %s, which clients and servers share; Linux %s", time.Now().Format(time.DateOnly),
			runtime.NumCPU(), field("/proc/cpuinfo", "model name"), first(`(.+)`, release, err, "of an unknown version")),
		"files on " + diskOf(dir),
		fmt.Sprintf("%s; Redis %s; etcd %s, one member, synced", runtime.Version(), redis, version.Version),
		"load average of the machine before the run: " + first(`^(\S+)`, load, err2, "unknown"),
	}
}

// field is the first value of a name in a file of "name : value" lines.
func field(path, name string) string {
	text, err := os.ReadFile(path)
	return first(`(?m)^`+name+`\s*:\s*(.*\S)`, text, err, "unknown")
}

// first is what a pattern finds in a text; without it, or after an error, it is otherwise.
func first(pattern string, text []byte, err error, otherwise string) string {
	if found := regexp.MustCompile(pattern).FindSubmatch(text); err == nil && found != nil {
		return string(found[1])
	}
	return otherwise
}

// diskOf is the device and the filesystem that dir is on.
func diskOf(dir string) string {
	told, err := exec.Command("df", "--output=source,fstype", dir).Output()
	words := strings.Fields(string(told)) // two titles come first
	if err != nil || len(words) != 4 {
		return "an unknown disk"
	}
	return fmt.Sprintf("%s (%s)", words[2], words[3])
}
