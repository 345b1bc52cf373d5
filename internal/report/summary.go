package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// Name is what a run is called: scenario, variant and, where there are several,
// the round.
func Name(r Result) string {
	name := strings.TrimSpace(r.Scenario + " " + r.Variant) // a file that cannot be read has no variant
	if r.Round > 0 {
		name += fmt.Sprintf(" #%d", r.Round)
	}
	return name
}

// Said is what came of a run, in a few words.
func Said(r Result) string {
	switch {
	case r.Skipped != "":
		return "skipped: " + r.Skipped
	case r.Err != nil && r.File != "":
		return "cannot be judged"
	case r.Err != nil:
		return "could not be run"
	}
	return r.Outcome.Name + ", " + expectation(history.Run{Control: r.Control}, r.Outcome)
}

// Expected reports whether a run was made and came out as its scenario expects.
func Expected(r Result) bool { return r.Skipped == "" && r.Err == nil && r.Outcome.OK }

// Seed is that of what a run chose at random; 0 where it chose nothing.
func Seed(r Result) uint64 {
	if len(r.Events) == 0 || r.Events[0].Run == nil {
		return 0
	}
	return r.Events[0].Run.Seed
}

// Count is how many runs came to which end.
type Count struct {
	Runs    int // tried
	Differ  int // of them: did not come out as expected
	Cannot  int // of them: could not be made
	Skipped int
}

// CountOf counts runs.
func CountOf(results []Result) Count {
	var c Count
	for _, r := range results {
		if r.Skipped != "" {
			c.Skipped++
			continue
		}
		c.Runs++
		switch {
		case r.Err != nil:
			c.Cannot++
		case !r.Outcome.OK:
			c.Differ++
		}
	}
	return c
}

// Summary says in a sentence what came of runs.
func Summary(results []Result) string {
	c := CountOf(results)
	scenarios := make(map[string]bool)
	var began, ended time.Time
	took, cannot := "", "could not be judged" // of files that were read
	for _, r := range results {
		if r.Skipped != "" {
			continue
		}
		scenarios[r.Scenario] = true
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
		took = " in " + seconds(ended.Sub(began))
	}
	said := "nothing was run"
	if c.Runs > 0 {
		said = fmt.Sprintf("%s of %s%s: ", plural(c.Runs, "run"), plural(len(scenarios), "scenario"), took)
		var bad []string
		if c.Differ > 0 {
			bad = append(bad, fmt.Sprintf("%d NOT as expected", c.Differ))
		}
		if c.Cannot > 0 {
			bad = append(bad, fmt.Sprintf("%d %s", c.Cannot, cannot))
		}
		if len(bad) == 0 {
			bad = []string{"all as expected"}
		}
		said += strings.Join(bad, ", ")
	}
	if c.Skipped > 0 {
		said += fmt.Sprintf("; %d skipped", c.Skipped)
	}
	return said
}

func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// seconds writes how long runs took.
func seconds(d time.Duration) string {
	if s := d.Seconds(); s < 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
