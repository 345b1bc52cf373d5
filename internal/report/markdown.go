package report

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes what came of runs as a table for people, with what is not as
// expected below it, for instance as the summary of a job on GitHub Actions. No
// text of a run can become markup.
func Markdown(w io.Writer, results []Result) error {
	var out strings.Builder
	fmt.Fprintf(&out, "### gcsim: %s\n\n| scenario | variant | what came of it | time | |\n|---|---|---|---:|---|\n", markdown(Summary(results)))
	for _, r := range results {
		sign := "✅"
		switch {
		case r.Skipped != "":
			sign = "⏭️"
		case !Expected(r):
			sign = "❌"
		}
		took := ""
		if r.Skipped == "" {
			took = seconds(r.Took)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", markdown(r.Scenario),
			markdown(strings.TrimPrefix(Name(r), r.Scenario+" ")), markdown(Said(r)), took, sign)
	}
	for _, r := range results {
		why := r.Outcome.Mismatches
		if r.Err != nil {
			why = []string{r.Err.Error()}
		}
		if Expected(r) || r.Skipped != "" {
			continue
		}
		fmt.Fprintf(&out, "\n**%s**: %s\n\n", markdown(Name(r)), markdown(Said(r)))
		for _, m := range why {
			fmt.Fprintf(&out, "- %s\n", markdown(m))
		}
		for _, v := range r.Outcome.Violations {
			fmt.Fprintf(&out, "- violation: %s\n", markdown(v.Text))
		}
		if seed := Seed(r); seed != 0 {
			fmt.Fprintf(&out, "- the same choices again: `--seed %d`\n", seed)
		}
	}
	out.WriteByte('\n')
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// markdown makes s text on one line: what could be markup is escaped, as
// CommonMark has it for every ASCII punctuation mark. The dot makes links (www.)
// and, at the beginning, numbered lists; there the hyphen makes lists and rules.
func markdown(s string) string {
	var b strings.Builder
	for i, r := range prose(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&@:.", r) || i == 0 && r == '-' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
