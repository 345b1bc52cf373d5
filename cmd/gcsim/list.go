package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/cli"
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
			} else {
				tellList(w, list, terminal.Detect(w.Writer, os.Environ()).Width)
			}
			return w.err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the list as JSON")
	return cmd
}

// tellList writes the scenarios below their services, for a terminal of a width; 0: lines are as long as they are.
func tellList(w *output, list []*scenario.Scenario, width int) {
	for len(list) > 0 {
		of := itsService(list[0])
		n := slices.IndexFunc(list, func(s *scenario.Scenario) bool { return itsService(s) != of })
		if n < 0 {
			n = len(list)
		}
		fmt.Fprintln(w, of)
		tellGroup(w, list[:n], width)
		if list = list[n:]; len(list) > 0 {
			fmt.Fprintln(w)
		}
	}
}

func tellGroup(w *output, list []*scenario.Scenario, width int) {
	ids, names := 0, 0
	for _, s := range list {
		ids, names = max(ids, len(id(s))), max(names, len(shortName(s.Name)))
	}
	for _, s := range list {
		called := fmt.Sprintf("  %-*s  %-*s  ", ids, id(s), names, shortName(s.Name))
		switch {
		case width == 0:
			fmt.Fprintln(w, called+s.Title)
		case width < len(called)+leastTitle:
			fmt.Fprintln(w, strings.TrimRight(called, " "))
			prose{w, width}.paragraph("    ", s.Title)
		default:
			for _, line := range wrap(s.Title, width-1, called, strings.Repeat(" ", len(called))) {
				fmt.Fprintln(w, line)
			}
		}
	}
}

// leastTitle is the least room for a title beside its scenario's name.
const leastTitle = 30

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
		for _, v := range s.Variants {
			e.Variants = append(e.Variants, variantEntry{v.Name, v.Control})
		}
		all = append(all, e)
	}
	return all
}
