package story

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// Result is what came of one run, for all reports that are about many.
type Result struct {
	Service  string // the lock service
	Scenario string // the file's name without .yaml
	Title    string
	Variant  string
	Control  bool
	Round    int // of several, from 1; 0: there is only one
	Began    time.Time
	Took     time.Duration
	Events   []history.Event
	Verdict  any     // what goes into its own file
	Outcome  Outcome // the same in words; zero where there is none
	Err      error   // why the run could not be made, or has no verdict
	Skipped  string  // why it was not tried
	File     string  // the history that was read; "": it was run
	Yours    bool    // its storage was the user's
}

// Drawing is what there is to draw of a run: its verdict, or why it has none.
func (r Result) Drawing() Drawing {
	if r.Err != nil {
		return Drawing{Events: r.Events, Outcome: Outcome{Trouble: trouble(r.Err)}}
	}
	return Drawing{Events: r.Events, Outcome: r.Outcome}
}

// trouble says why a run has no verdict, in a sentence: of all that is wrong with a history, the first.
func trouble(err error) string {
	var invalid *history.InvalidError
	if errors.As(err, &invalid) && len(invalid.Problems) > 0 {
		return fmt.Sprintf("the history cannot be judged: %v", invalid.Problems[0])
	}
	return err.Error()
}

// Run is what the history says was run; zero where it does not say it.
func (r Result) Run() history.Run {
	if len(r.Events) == 0 || r.Events[0].Run == nil {
		return history.Run{}
	}
	return *r.Events[0].Run
}

// Name is what a run is called: scenario, variant and, where there are several, the round.
func (r Result) Name() string {
	name := strings.TrimSpace(r.Scenario + " " + r.Variant) // a file that cannot be read has no variant
	if r.Round > 0 {
		name += fmt.Sprintf(" #%d", r.Round)
	}
	return name
}

// Part is what a run is called beside its scenario.
func (r Result) Part() string { return strings.TrimPrefix(r.Name(), r.Scenario+" ") }

// Dir is where the files of a run belong: NAME/VARIANT, or NAME/VARIANT/ROUND of several. It has slashes on
// every system.
func (r Result) Dir() string {
	dir := path.Join(r.Scenario, r.Variant)
	if r.Round > 0 {
		dir = path.Join(dir, strconv.Itoa(r.Round))
	}
	return dir
}

// Said is what came of a run, in a few words.
func (r Result) Said() string {
	switch {
	case r.Skipped != "":
		return "left out: " + r.Skipped
	case r.Err != nil && r.File != "":
		return "cannot be judged"
	case r.Err != nil:
		return "could not be run"
	}
	if r.Outcome.Open || r.Outcome.Free {
		return r.Outcome.Name
	}
	return r.Outcome.Name + ", " + r.Outcome.Expectation(r.Control)
}

// Expected reports whether a run was made and came out as its scenario expects.
func (r Result) Expected() bool { return r.Skipped == "" && r.Err == nil && r.Outcome.OK }

func (r Result) Reasons() []string {
	if r.Err != nil {
		return []string{r.Err.Error()}
	}
	return r.Outcome.Mismatches
}

type Count struct {
	Runs    int // tried
	Differ  int // of them: did not come out as expected
	Harmed  int // of them: nothing is expected, and they are not safe
	Free    int // of them: nothing is expected
	Open    int // of them: nobody knows whether they did
	Cannot  int // of them: could not be made
	Yours   int // of them: with the user's storage
	Skipped int
}

func CountOf(results []Result) Count {
	var c Count
	for _, r := range results {
		if r.Skipped != "" {
			c.Skipped++
			continue
		}
		c.Runs++
		if r.Yours {
			c.Yours++
		}
		if r.Outcome.Free {
			c.Free++
		}
		switch {
		case r.Err != nil:
			c.Cannot++
		case r.Outcome.Open:
			c.Open++
		case r.Outcome.Free && !r.Outcome.OK:
			c.Harmed++
		case !r.Outcome.OK:
			c.Differ++
		}
	}
	return c
}

func Summary(results []Result) string {
	c := CountOf(results)
	var began, ended time.Time
	took, cannot := "", "could not be judged" // of files that were read
	tried := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Skipped != "" })
	for _, r := range tried {
		if r.File == "" {
			cannot = "could not be run"
		}
		if began.IsZero() || r.Began.Before(began) {
			began = r.Began
		}
		if end := r.Began.Add(r.Took); end.After(ended) {
			ended = end
		}
	}
	if !began.IsZero() {
		took = " in " + Seconds(ended.Sub(began))
	}
	yours := ""
	switch c.Yours {
	case 0:
	case c.Runs:
		yours = " with your storage"
	default:
		yours = fmt.Sprintf(" (%d with your storage)", c.Yours)
	}
	said := "nothing was run"
	if c.Runs > 0 {
		said = fmt.Sprintf("%s of %s%s%s: ", plural(c.Runs, "run"), plural(len(Grouped(tried, OfScenario)), "scenario"), yours, took)
		var ends []string
		good := "as expected"
		if c.Free == c.Runs {
			good = history.Safe
		}
		if c.Open > 0 {
			ends = append(ends, fmt.Sprintf("%d %s", c.Runs-c.Differ-c.Harmed-c.Open-c.Cannot, good))
		}
		for _, end := range []struct {
			runs int
			what string
		}{{c.Differ, "NOT as expected"}, {c.Harmed, "NOT safe"}, {c.Open, "undecided"}, {c.Cannot, cannot}} {
			if end.runs > 0 {
				ends = append(ends, fmt.Sprintf("%d %s", end.runs, end.what))
			}
		}
		said += cmp.Or(strings.Join(ends, ", "), "all "+good)
	}
	if c.Skipped > 0 {
		said += fmt.Sprintf("; %d left out", c.Skipped)
	}
	if left := LeftOut(results); len(left) == 1 {
		said += ": " + left[0][0].Skipped
	}
	return said
}

// LeftOut are the runs that were not tried, by the reason.
func LeftOut(results []Result) [][]Result {
	tried := func(r Result) bool { return r.Skipped == "" }
	return Grouped(slices.DeleteFunc(slices.Clone(results), tried), func(r Result) string { return r.Skipped })
}

// OfScenario is a key by which results are Grouped.
func OfScenario(r Result) string { return r.Scenario }

// Grouped has those of a list together that have the same key, in the order in which the keys come.
func Grouped[T any](list []T, key func(T) string) (groups [][]T) {
	for _, r := range list {
		i := slices.IndexFunc(groups, func(group []T) bool { return key(group[0]) == key(r) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], r)
	}
	return groups
}

// ControlFirst is the order in which to tell runs: those of a scenario together, the harm before what helps.
func ControlFirst[T any](list []T, of func(T) Result) []T {
	place := make(map[string]int) // of a scenario
	for i, r := range list {
		if name := of(r).Scenario; place[name] == 0 {
			place[name] = i + 1
		}
	}
	rank := func(r Result) int {
		if r.Control {
			return 2 * place[r.Scenario]
		}
		return 2*place[r.Scenario] + 1
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(rank(of(a)), rank(of(b))) })
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func Seconds(d time.Duration) string {
	if s := d.Seconds(); s < 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
