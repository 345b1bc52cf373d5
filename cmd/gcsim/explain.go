package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/scenario"
)

func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain NAME|FILE...",
		Short: "Tell what a scenario teaches",
		Args:  cli.Args(1, cli.Any),

		ValidArgsFunction: scenarioNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			w := &output{Writer: cmd.OutOrStdout()}
			p := prose{w: w, width: min(cmp.Or(terminal.Detect(w.Writer, os.Environ()).Width, defaultProse), 100)}
			for i, arg := range args {
				list, err := load([]string{arg}, cmd.ErrOrStderr())
				if err != nil {
					return cannot(err)
				}
				for k, s := range list {
					if i+k > 0 {
						fmt.Fprintln(w)
					}
					p.scenario(s, arg)
				}
			}
			return w.err
		},
	}
}

// defaultProse is how wide paragraphs are where nobody says.
const defaultProse = 80

type prose struct {
	w     io.Writer
	width int
}

// scenario tells what a scenario teaches, and how to run it.
func (p prose) scenario(s *scenario.Scenario, arg string) {
	p.paragraph("", called(s)+": "+s.Title)
	for _, part := range []struct{ name, text string }{
		{"What happens", s.Lesson}, {"What helps", s.Helps}, {"Source", s.Source},
	} {
		if part.text == "" {
			continue
		}
		fmt.Fprintf(p.w, "\n%s:\n", part.name)
		for _, text := range strings.Split(part.text, "\n\n") {
			p.paragraph("  ", text)
		}
	}
	fmt.Fprint(p.w, "\nVariants:\n")
	for i := range s.Variants {
		v := &s.Variants[i]
		name, must := v.Name, "Expected"
		if v.Control {
			name, must = name+" (the control)", "It must fail so"
		}
		p.paragraph("  ", fmt.Sprintf("%s: %s.", name, about(v)))
		p.paragraph("    ", fmt.Sprintf("%s: %s.", must, expected(v.Expect)))
	}
	fmt.Fprintf(p.w, "\nRun it:\n  %s run %s\n", self(), arg)
	if file := chapter(s.Name); file != "" {
		fmt.Fprintf(p.w, "\nIts chapter:\n  %s\n", file)
	}
}

// self is what to type to call gcsim as it was called: by its name, or by go run.
func self() string {
	if _, err := os.Stat("cmd/gcsim/main.go"); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/gcsim"
	}
	return "gcsim"
}

// chapter is where the chapter about a scenario that gcsim brings with it can be
// read: its file where that is here, otherwise its address; "" where there is none.
func chapter(name string) string {
	file := chapterFile(name)
	if _, err := os.Stat(file); err == nil || file == "" {
		return file
	}
	return published + file
}

// published is where everybody finds the repository's files.
const published = "https://github.com/fencelab/fencelab/blob/main/"

func (p prose) paragraph(indent, text string) {
	for _, line := range wrap(text, p.width-1, indent, indent) {
		fmt.Fprintln(p.w, line)
	}
}

// about says what sets a variant apart.
func about(v *scenario.Variant) string {
	switch {
	case v.About != "":
		return strings.TrimSuffix(strings.TrimSpace(v.About), ".")
	case v.World.Storage.Fencing == scenario.FencingOff:
		return "the storage checks no tokens"
	}
	return "the storage checks tokens"
}

// expected says what must come of a variant.
func expected(e history.Expect) string {
	parts := []string{e.Verdict}
	if e.Stale != nil {
		parts = append(parts, fmt.Sprintf("%d refused as stale", *e.Stale))
	}
	if e.Refused != nil {
		parts = append(parts, fmt.Sprintf("%d refused in all", *e.Refused))
	}
	if e.Ordered != nil {
		parts = append(parts, words(*e.Ordered, "tokens in the order of grants", "tokens not in the order of grants"))
	}
	if e.Fenced != nil {
		parts = append(parts, words(*e.Fenced, "the storage is linearizable and fenced", "the storage is not what a fenced one is"))
	}
	for i, key := range slices.Sorted(maps.Keys(e.Final)) {
		pair := key + "=" + e.Final[key]
		if i == 0 {
			pair = "at the end " + pair
		}
		parts = append(parts, pair)
	}
	if len(e.Missing) > 0 {
		parts = append(parts, "no value of "+strings.Join(e.Missing, " and "))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Steps)) {
		parts = append(parts, fmt.Sprintf("the step %q: %s", name, e.Steps[name]))
	}
	return strings.Join(parts, ", ")
}

func words(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
