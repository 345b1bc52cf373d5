package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/hunt"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// huntOptions say where stories are told, and how many.
type huntOptions struct {
	look    look
	places  places
	storage ownStorage
	hunt.Options
	locks   int
	model   bool
	clients int
	set     []string
	expect  string
	out     string
	json    bool
}

func huntCommand() *cobra.Command {
	var o huntOptions
	cmd := cli.Command("hunt [SERVICE | NAME[/VARIANT] | FILE[/VARIANT]]...", "Tell random stories to real processes until something breaks", cli.Args(0, cli.Any), func(cmd *cobra.Command, args []string) error {
		return o.hunt(cmd, args)
	})
	cmd.ValidArgsFunction = scenarioNames
	f := cmd.Flags()
	f.DurationVar(&o.For, "for", time.Minute, "how long stories are told; what was found is made smaller afterwards")
	f.IntVar(&o.Stories, "stories", 0, "how many stories are told at most (default: as many as there is time for)")
	f.Uint64Var(&o.Seed, "seed", 0, "for random choices (default: random, and printed)")
	f.IntVarP(&o.Side, "jobs", "j", 2*defaultSide, "how many stories are told side by side")
	f.IntVar(&o.Until, "until", 1, "after so many findings no more are looked for, unless they only block; 0: until the time is over")
	f.BoolVar(&o.Whole, "whole", false, "leave what was found as it is, and make it no smaller")
	f.IntVar(&o.locks, "locks", 0, "tell long stories in which clients take and give back so many locks, and do nothing else; judge what they are told")
	f.BoolVar(&o.model, "from-model", false, "tell random stories of the explorer's model; what real processes do in another way is a finding, and nothing else is")
	f.IntVar(&o.clients, "clients", 0, "how many clients a lock service has (default: 2, with --locks 4)")
	f.StringArrayVar(&o.set, "set", nil, "a setting PATH=VALUE of a lock service's world, as a scenario has it; may be repeated")
	f.StringVar(&o.expect, "expect", "promised", "what must come of a story of a lock service. promised: what its recipe promises; safe: no harm at all; with --locks a lock is held until its client is told of the loss")
	f.StringVarP(&o.out, "out", "o", "", "directory for what was found: a scenario, its history and its picture each")
	f.BoolVar(&o.json, "json", false, "print what was found as JSON instead of text")
	o.places.flags(f)
	o.storage.flags(f)
	o.look.flags(f)
	cmd.MarkFlagsMutuallyExclusive("locks", "from-model")
	return cmd
}

// hunt tells stories, and says what was found.
func (o huntOptions) hunt(cmd *cobra.Command, args []string) error {
	var report hunt.Report
	shared := &lab.Shared{Exe: exe}
	err := fail.Caught(func() {
		fail.If(cmp.Or(o.check(), notEmpty(cmd.Flags()), o.storage.check()))
		options := fail.Must(o.look.on(cmd.OutOrStdout()))
		if o.Seed == 0 {
			o.Seed = 1 + rand.Uint64N(1_000_000) // short enough to be typed again
		}
		o.Worlds = o.worlds(cmd, args, lab.Options{Exe: exe, Shared: shared, Patience: patience})
		if o.out != "" {
			fail.If(os.MkdirAll(o.out, 0o777))
		}
		h := hunt.New(o.Options)
		line := newProgress(cmd.ErrOrStderr(), func() string { return progressOf(h.Report()) })
		h.Run(cmd.Context())
		line.end()
		report = h.Report()
		out := &output{Writer: cmd.OutOrStdout()}
		if o.json {
			o.printJSON(out, report)
		} else {
			o.print(out, options, report)
		}
		if out.err != nil {
			fail.If(fmt.Errorf("print: %w", out.err))
		}
		if o.out != "" {
			for i, f := range report.Findings {
				fail.If(o.save(i, f))
			}
		}
	})
	switch err := errors.Join(err, shared.Close()); {
	case err != nil:
		return cannot(err)
	case report.Err != nil:
		return cannot(report.Err)
	case slices.ContainsFunc(report.Findings, (*hunt.Finding).Sure):
		return &cli.ExitError{Code: exitDiffers, Err: errors.New("stories came out as they must not")}
	case cmd.Context().Err() != nil:
		return &cli.ExitError{Code: exitStopped, Err: errors.New("stopped before all was told")}
	case report.Stories == 0:
		return cannot(errors.New("no story was told to its end: give it more time"))
	}
	return nil
}

// patience is how long a step of a story may wait beyond leases: less than elsewhere, as some wait in vain.
const patience = 8 * time.Second

func (o huntOptions) check() error {
	switch {
	case o.Side < 1 || o.Stories < 0 || o.Until < 0 || o.For <= 0:
		return fmt.Errorf("want --jobs of 1 or more, --stories and --until of 0 or more, and --for with a time over 0, got %d, %d, %d and %v", o.Side, o.Stories, o.Until, o.For)
	case o.locks < 0 || o.clients < 0 || o.clients == 1:
		return fmt.Errorf("want --locks of 0 or more, and --clients of 2 or more, got %d and %d", o.locks, o.clients)
	case o.expect != "promised" && o.expect != "safe":
		return fmt.Errorf("want --expect promised or safe, got %q", o.expect)
	}
	return nil
}

// worlds are those that the arguments name: of a variant, of each variant of a scenario, or of each recipe of a service.
func (o huntOptions) worlds(cmd *cobra.Command, args []string, options lab.Options) (worlds []*hunt.World) {
	var list []*scenario.Scenario
	promises := make(map[*scenario.Scenario]hunt.Promises)
	for _, arg := range args {
		if of := service.Named(all.List, arg); of != nil && of.Dial != nil { // else it has no recipe in Go, and load knows its scenarios
			for _, s := range fail.Must(o.recipesOf(of)) {
				list, promises[s] = append(list, s), promised(of, s)
			}
			continue
		}
		list = append(list, fail.Must(load([]string{arg}, cmd.ErrOrStderr()))...)
	}
	if len(args) == 0 {
		fail.If(errors.New("want a lock service, of those that gcsim services names, or a scenario, of those that gcsim list names"))
	}
	found := fail.Must(o.places.find(list))
	options.Services = found.services
	fail.If(found.reach(cmd.Context()))
	jobs := plan(list, 1, options)
	for _, j := range jobs {
		j.options.Endpoints = found.endpoints[j.variant.World.Service]
		j.skipped = found.skips(j.variant)
	}
	fail.If(o.storage.place(cmd.Context(), jobs))
	var why []string
	for _, j := range jobs {
		if j.skipped != "" {
			why = append(why, j.scenario.Name+"/"+j.variant.Name+" is left out: "+j.skipped)
			continue
		}
		w := hunt.NewWorld(language, strings.TrimSuffix(j.scenario.Name+"/"+j.variant.Name, "/"+ofRecipe), j.scenario, j.variant, j.options)
		promises, ofService := promises[j.scenario]
		switch {
		case o.expect == "safe":
			w.Promises.UntilTold = true
		case ofService:
			w.Promises = promises
		}
		if o.locks > 0 {
			fail.If(w.TakeLocks(o.locks, ofService && len(j.options.Endpoints) == 0))
		}
		if o.model {
			if err := w.FromModel(); err != nil {
				why = append(why, j.scenario.Name+"/"+j.variant.Name+" is left out: "+err.Error())
				continue
			}
		}
		worlds = append(worlds, w)
	}
	if len(worlds) == 0 {
		fail.If(errors.New(strings.Join(why, "; ")))
	}
	return worlds
}

func progressOf(r hunt.Report) string {
	return fmt.Sprintf("%d stories, %.0f a minute; %d findings", r.Stories, rateOf(r), len(r.Findings))
}

func rateOf(r hunt.Report) float64 { return float64(r.Stories) / max(r.Took.Minutes(), 1e-9) }

// save writes what was found below out.
func (o huntOptions) save(i int, f *hunt.Finding) error {
	r := resultOf(f.Events, nil)
	r.Scenario, r.Variant = fmt.Sprintf("%s-%d", strings.ReplaceAll(f.World.Name, "/", "-"), i+1), "found"
	return errors.Join(saveResult(o.out, r), write(o.file(i, f), func(w io.Writer) error {
		text, err := f.File()
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}))
}

func (o huntOptions) file(i int, f *hunt.Finding) string {
	return filepath.Join(o.out, fmt.Sprintf("%s-%d.yaml", strings.ReplaceAll(f.World.Name, "/", "-"), i+1))
}

// print prints each finding as a timeline, and what is known of it; then what was told. Errors are kept by out.
func (o huntOptions) print(out *output, options terminal.Options, r hunt.Report) {
	text := &printer{out: out, options: options, width: options.Width}
	for i, f := range r.Findings {
		_ = draw(terminal.New(out, options), resultOf(f.Events, nil))
		fmt.Fprintln(out)
		text.tell(fmt.Sprintf("%s: %s. %s", f.World.Name, f.Kind, f.Text))
		text.tell(said(f))
		text.tell("This is " + knownAs(f) + ".")
		if o.out != "" {
			text.tell("Run it: " + self() + " run " + o.file(i, f))
		}
		fmt.Fprintln(out)
	}
	for _, line := range coverage(r) {
		fmt.Fprintln(out, line)
	}
	text.tell(fmt.Sprintf("%d stories in %.0f s, %.0f a minute, with --seed %d; %d findings.", r.Stories, r.Took.Seconds(), rateOf(r), o.Seed, len(r.Findings)))
	if r.Unstarted > 0 {
		text.tell(fmt.Sprintf("The worlds of %d more stories did not start; of the last one: %v.", r.Unstarted, r.Why))
	}
}

// said says how often a finding came again, and how small it is.
func said(f *hunt.Finding) string {
	switch {
	case f.Again == 0:
		return fmt.Sprintf("Story %d, of %d steps, was not told again: the hunt was stopped.", f.Story, len(f.Steps))
	case f.Seen == 0:
		return fmt.Sprintf("Story %d, of %d steps, did not do so again in %d more runs.", f.Story, len(f.Steps), f.Again)
	}
	return fmt.Sprintf("Story %d had %d steps. %d steps are left, and %d of %d runs of them did the same.", f.Story, len(f.Steps), len(f.Smallest()), f.Seen, f.Again)
}

// knownAs is the known pitfall of a finding.
func knownAs(f *hunt.Finding) string {
	list, _ := builtin()
	if s := f.Known(list); s != nil {
		return "like " + called(s)
	}
	return "known nowhere"
}

// coverage is a table of the faults that came, by the point of the story at which they did.
func coverage(r hunt.Report) (table []string) {
	if len(r.Coverage) == 0 {
		return nil
	}
	counts, points := make(map[string]map[string]int), make(map[string]bool)
	for cell, n := range r.Coverage {
		row := cell.World + "  " + cell.Fault
		if counts[row] == nil {
			counts[row] = make(map[string]int)
		}
		counts[row][cell.Point] += n
		points[cell.Point] = true
	}
	columns, wide := slices.Sorted(maps.Keys(points)), 0
	for row := range counts {
		wide = max(wide, len(row))
	}
	line := func(first string, cell func(string) string) {
		text := fmt.Sprintf("%-*s", wide, first)
		for _, c := range columns {
			text += fmt.Sprintf("  %*s", max(len(c), 5), cell(c))
		}
		table = append(table, text)
	}
	line("how often a fault came", func(c string) string { return c })
	for _, row := range slices.Sorted(maps.Keys(counts)) {
		line(row, func(c string) string { return fmt.Sprint(counts[row][c]) })
	}
	return append(table, "")
}

// printJSON prints all that is known. Errors are kept by out.
func (o huntOptions) printJSON(out *output, r hunt.Report) {
	type finding struct {
		World string   `json:"world"`
		Kind  string   `json:"kind"`
		Text  string   `json:"text"`
		Story int      `json:"story"` // its number, from 1
		Steps int      `json:"steps"` // that it had
		Seen  int      `json:"seen"`  // of so many runs
		Again int      `json:"again"`
		Known string   `json:"known"`
		Small []string `json:"small"` // the steps that are left
		File  string   `json:"file,omitempty"`
	}
	type cell struct {
		hunt.Cell
		Times int `json:"times"`
	}
	all := struct {
		Seed    uint64  `json:"seed"`
		Stories int     `json:"stories"`
		Seconds float64 `json:"seconds"`
		// Of so many more the world did not start.
		Unstarted int       `json:"unstarted"`
		Findings  []finding `json:"findings"`
		Coverage  []cell    `json:"coverage"`
	}{o.Seed, r.Stories, r.Took.Seconds(), r.Unstarted, []finding{}, []cell{}}
	for i, f := range r.Findings {
		found := finding{World: f.World.Name, Kind: f.Kind, Text: f.Text, Story: f.Story, Steps: len(f.Steps), Seen: f.Seen, Again: f.Again, Known: knownAs(f)}
		for _, s := range f.Smallest() {
			found.Small = append(found.Small, s.String())
		}
		if o.out != "" {
			found.File = o.file(i, f)
		}
		all.Findings = append(all.Findings, found)
	}
	for c, n := range r.Coverage {
		all.Coverage = append(all.Coverage, cell{c, n})
	}
	slices.SortFunc(all.Coverage, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.World, b.World), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Point, b.Point))
	})
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	_ = enc.Encode(all)
}
