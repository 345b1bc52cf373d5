// Package ci writes what came of runs for machines and for the pages of a CI.
package ci

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/fencelab/fencelab/internal/report/story"
)

// Markdown writes what came of runs as a table for people, as for the summary of a job on GitHub Actions, with
// what is not as expected below it. No text of a run can become markup.
func Markdown(w io.Writer, results []story.Result) error {
	var out strings.Builder
	fmt.Fprintf(&out, "### gcsim: %s\n\n| scenario | variant | what came of it | time | |\n|---|---|---|---:|---|\n", markdown(story.Summary(results)))
	for _, r := range results {
		took, sign := story.Seconds(r.Took), "✅"
		switch {
		case r.Skipped != "":
			took, sign = "", "⏭️"
		case r.Err == nil && r.Outcome.Open:
			sign = "❔"
		case !r.Expected():
			sign = "❌"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", markdown(path.Join(r.Service, r.Scenario)), markdown(r.Part()), markdown(r.Said()), took, sign)
	}
	for _, r := range results {
		if r.Expected() || r.Skipped != "" {
			continue
		}
		fmt.Fprintf(&out, "\n**%s**: %s\n\n", markdown(r.Name()), markdown(r.Said()))
		for _, m := range r.Reasons() {
			fmt.Fprintf(&out, "- %s\n", markdown(m))
		}
		for _, v := range r.Outcome.Violations {
			fmt.Fprintf(&out, "- violation: %s\n", markdown(v.Text))
		}
		if seed := r.Run().Seed; seed != 0 {
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
	for i, r := range story.Prose(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~&@:.", r) || i == 0 && r == '-' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
