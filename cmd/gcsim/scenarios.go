package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/history/schema"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/columns"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

func listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "list [SERVICE]",
		Short:     "List the scenarios, of all lock services or of one",
		Args:      cli.Args(0, 1),
		ValidArgs: service.Names(all.List),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := builtin()
			if len(args) > 0 {
				list, err = ofService(args[0])
			}
			if err != nil {
				return err
			}
			w := &output{Writer: cmd.OutOrStdout()}
			if asJSON {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				_ = enc.Encode(entries(list)) // w keeps the error
				return w.err
			}
			tellList(w, list, terminal.Detect(w.Writer, os.Environ()).Width)
			if len(args) == 0 {
				fmt.Fprintf(w, "\nThose of one lock service: %s list SERVICE\n", self())
			}
			return w.err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the list as JSON")
	return cmd
}

// tellList writes the scenarios below their services, for a terminal of a width; 0: lines are as long as they are.
func tellList(w *output, list []*scenario.Scenario, width int) {
	for i, group := range story.Grouped(list, itsService) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, itsService(group[0]))
		ids, names := 0, 0
		for _, s := range group {
			ids, names = max(ids, len(id(s))), max(names, len(shortName(s.Name)))
		}
		for _, s := range group {
			fmt.Fprintln(w, columns.Fit(fmt.Sprintf("  %-*s  %-*s  %s", ids, id(s), names, shortName(s.Name), s.Title), width-1))
		}
	}
}

// entry is a scenario in the list as JSON.
type entry struct {
	ID       string         `json:"id"` // service and number, as commands take it
	Service  string         `json:"service"`
	Scenario string         `json:"scenario"` // as results call it
	Title    string         `json:"title"`
	Variants []variantEntry `json:"variants"`
}

type variantEntry struct {
	Name    string `json:"name"`
	Control bool   `json:"control"` // it is the story without the protection, and must fail
}

func entries(list []*scenario.Scenario) []entry {
	var all []entry
	for _, s := range list {
		e := entry{ID: id(s), Service: itsService(s), Scenario: s.Name, Title: s.Title}
		for _, v := range s.HarmFirst() {
			e.Variants = append(e.Variants, variantEntry{v.Name, v.Control})
		}
		all = append(all, e)
	}
	return all
}

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
	for _, v := range s.HarmFirst() {
		name, must := v.Name, "Expected"
		if v.Control {
			name, must = name+" (the control)", "It must fail so"
		}
		p.paragraph("  ", fmt.Sprintf("%s: %s.", name, strings.TrimSuffix(strings.TrimSpace(v.Says()), ".")))
		p.paragraph("    ", fmt.Sprintf("%s: %s.", must, expected(v.Expect)))
	}
	fmt.Fprintf(p.w, "\nRun it:\n  %s run %s\n", self(), arg)
	if file := pathOrAddress(chapterFile(s.Name)); file != "" {
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

// pathOrAddress is where a file of the repository can be read: as it is where that is here, otherwise its address.
func pathOrAddress(file string) string {
	if _, err := os.Stat(file); err == nil || file == "" {
		return file
	}
	return docs.Published + file
}

func (p prose) paragraph(indent, text string) {
	fmt.Fprintln(p.w, columns.Wrap(text, p.width-1, indent, indent))
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
		parts = append(parts, "the storage "+words(*e.Fenced, "keeps", "breaks")+" the rule of a fence (only the highest token writes)")
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

var scenarioName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

func newCommand() *cobra.Command {
	return cli.Command("new NAME", "Write a scenario to begin with", cli.Args(1, 1), func(cmd *cobra.Command, args []string) error {
		if !scenarioName.MatchString(args[0]) {
			return cannot(fmt.Errorf("%q is no name for a scenario: want small letters, digits and -; the file gets .yaml", args[0]))
		}
		name := args[0] + ".yaml"
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s is there already, and is left as it is: take another name", name)
		}
		if err != nil {
			return cannot(err)
		}
		_, err = f.Write(scenario.Template(args[0]))
		if err := errors.Join(err, f.Close()); err != nil {
			return cannot(err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), `%[1]s is written. Run it:

  %[2]s run %[1]s

Then change it. docs/scenarios.md has all that it can say; an editor completes and
checks it by the schema:

  %[2]s schema > schema.json
`, name, self())
		return nil
	})
}

// schemas are what gcsim has JSON schemas of.
var schemas = map[string]func() ([]byte, error){
	"scenario": func() ([]byte, error) { return language.Schema() },
	"history":  schema.Of,
	"agent":    schema.OfAgent,

	"lock-service": schema.OfLockService,
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema [scenario|history|agent|lock-service]",
		Short:     "Print the JSON schema of scenarios, or of a line of a history",
		Args:      cli.Args(0, 1),
		ValidArgs: slices.Sorted(maps.Keys(schemas)),
		RunE: func(cmd *cobra.Command, args []string) error {
			of := append(args, "scenario")[0]
			b, err := schemas[of]()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(b)
			}
			return err
		},
	}
}
