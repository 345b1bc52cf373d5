package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/explore/world"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// exploreOptions say of which world the stories are told, and up to which bound.
type exploreOptions struct {
	look    look
	service string
	set     []string
	clients int
	faults  []string
	depth   int
	memory  int // in MiB
	file    string
	replay  bool
	json    bool
}

func exploreCommand() *cobra.Command {
	var o exploreOptions
	cmd := cli.Command("explore [NAME/VARIANT|FILE/VARIANT]", "Look for the smallest story that does harm", cli.Args(0, 1), func(cmd *cobra.Command, args []string) error {
		return o.explore(cmd, args)
	})
	cmd.ValidArgsFunction = scenarioNames
	f := cmd.Flags()
	f.StringVar(&o.service, "service", "", "a lock service, in place of a scenario's variant")
	f.StringArrayVar(&o.set, "set", nil, "with --service: what is different from the defaults, as PATH=VALUE, such as clients.*.by=fenced; may be repeated")
	f.IntVar(&o.clients, "clients", 0, "how many clients there are; those beyond the scenario's are like its last one (default: the scenario's, or 2)")
	f.StringSliceVar(&o.faults, "faults", nil, "the faults that may come, of "+strings.Join(world.FaultNames(), ", ")+"; what the world cannot have adds nothing (default: the scenario's, or pause)")
	f.IntVar(&o.depth, "depth", 14, "how many steps a story has at most")
	f.IntVar(&o.memory, "memory", 1024, "how many MiB the states may take")
	f.StringVarP(&o.file, "out", "o", "", "file for the story, which \"gcsim run\" runs")
	f.BoolVar(&o.replay, "replay", false, "tell the story again by real processes, and say whether the same comes of it")
	f.BoolVar(&o.json, "json", false, "print what was found as JSON instead of text")
	o.look.flags(f)
	cmd.MarkFlagsMutuallyExclusive("json", "replay")
	return cmd
}

// explore tells all stories, and says which is the smallest one that does harm.
func (o exploreOptions) explore(cmd *cobra.Command, args []string) error {
	e := &exploration{}
	err := fail.Caught(func() {
		fail.If(o.check(args))
		options := fail.Must(o.look.on(cmd.OutOrStdout()))
		e.world, e.idle = o.world(args, cmd.ErrOrStderr())
		if o.file != "" {
			fail.If(canWrite(o.file))
		}
		e.search(cmd, explore.Bounds{Depth: o.depth, Memory: o.memory << 20})
		e.stopped = cmd.Context().Err() != nil && !e.found.Whole
		if e.found.Path != nil {
			fail.If(e.judge())
		}
		out := &output{Writer: cmd.OutOrStdout()}
		if o.json {
			e.json(out)
		} else {
			e.print(out, options)
		}
		if out.err != nil {
			fail.If(fmt.Errorf("print: %w", out.err))
		}
		if e.found.Path != nil && o.file != "" {
			fail.If(write(o.file, e.write))
		}
	})
	switch {
	case err != nil:
		return cannot(err)
	case e.found.Path == nil && e.stopped:
		return &cli.ExitError{Code: exitStopped, Err: errors.New("stopped before all was told")}
	case e.found.Path == nil && e.found.Full:
		return cannot(errors.New("the memory was full before all was told"))
	case e.found.Path == nil:
		return nil
	case o.replay:
		if err := e.replay(cmd, o.look); err != nil {
			return err
		}
	}
	return &cli.ExitError{Code: exitDiffers, Err: fmt.Errorf("a story of %d steps does harm", len(e.found.Path))}
}

func (o exploreOptions) check(args []string) error {
	switch {
	case (len(args) == 0) == (o.service == ""):
		return errors.New("want a variant of a scenario or --service, one of them")
	case o.service == "" && len(o.set) > 0:
		return errors.New("--set is of --service: the settings of a scenario are in its file")
	case o.clients < 0 || o.clients == 1:
		return fmt.Errorf("want --clients of 2 or more, got %d", o.clients)
	case o.depth < 1 || o.memory < 1:
		return fmt.Errorf("want --depth and --memory of 1 or more, got %d and %d", o.depth, o.memory)
	}
	return nil
}

// world is the model of what the arguments name; idle says which faults it cannot have. It fails where the model has none.
func (o exploreOptions) world(args []string, notes io.Writer) (w *world.World, idle []string) {
	var s *scenario.Scenario
	if o.service == "" {
		s = fail.Must(load(args, notes))[0]
	} else if s = fail.Must(chosen(o.service, o.clients, o.set)); len(o.faults) == 0 {
		o.faults = []string{"pause"}
	}
	if len(s.Variants) > 1 {
		fail.If(fmt.Errorf("%s has %d variants: name one, as in %s/%s", called(s), len(s.Variants), args[0], s.Variants[0].Name))
	}
	v := &s.Variants[0]
	if o.clients > 0 {
		var err error
		s, v, err = world.Widen(s, v, o.clients)
		fail.If(err)
	}
	w = fail.Must(world.Of(all.Named, s, v))
	if len(o.faults) > 0 {
		idle = fail.Must(w.Allow(language, o.faults))
	}
	return w, idle
}

// chosen is a scenario of a lock service, with settings PATH=VALUE of the flag --set. It has a step because each
// scenario has some.
func chosen(name string, clients int, set []string) (*scenario.Scenario, error) {
	if known := service.Names(all.List); service.Named(all.List, name) == nil {
		return nil, fmt.Errorf("there is no lock service %q%s", name, scenario.Hint(name, known))
	}
	var text strings.Builder
	fmt.Fprintf(&text, "title: What can happen\nworld:\n  %s: {}\nclients:\n", name)
	for n := range max(clients, 2) {
		fmt.Fprintf(&text, "  client%d: {lock: /lock}\n", n+1)
	}
	fmt.Fprint(&text, "steps:\n  - client1: lock\nvariants:\n  chosen:\n    expect: {verdict: safe}\n")
	if len(set) > 0 {
		fmt.Fprint(&text, "    set:\n")
	}
	for _, set := range set {
		path, value, is := strings.Cut(set, "=")
		if !is {
			return nil, fmt.Errorf("--set %s: want PATH=VALUE, as in clients.*.by=fenced", set)
		}
		fmt.Fprintf(&text, "      %s: %s\n", path, value)
	}
	return language.Parse("--set", name, []byte(text.String()))
}

// exploration is what comes of a world's stories.
type exploration struct {
	world   *world.World
	idle    []string // which faults it cannot have
	found   explore.Found
	took    time.Duration
	stopped bool

	// Of the smallest story that does harm:
	steps  []string
	result story.Result
}

// search tells the stories. A line on a terminal says how far it is.
func (e *exploration) search(cmd *cobra.Command, b explore.Bounds) {
	began := time.Now()
	var last atomic.Pointer[explore.Found]
	last.Store(&explore.Found{})
	line := newProgress(cmd.ErrOrStderr(), func() string {
		f := last.Load()
		return fmt.Sprintf("%d states, %.0f a second; all stories of %d steps were told, and %d states go on",
			f.States, float64(f.States)/time.Since(began).Seconds(), f.Depth, f.Frontier)
	})
	e.found = explore.Search(cmd.Context(), &e.world.Settings, b, func(f explore.Found) { last.Store(&f) })
	line.end()
	e.took = time.Since(began)
}

// judge has the story judged as a run is. The model must have found the same.
func (e *exploration) judge() error {
	steps, events := e.world.Tell(e.found.Path)
	e.steps, e.result = steps, resultOf(events, nil)
	want := tale.Verdict(e.found.Harm)
	switch got := e.result.Outcome.Name; {
	case e.result.Err != nil:
		return fmt.Errorf("the model's story %q cannot be judged: %w", steps, e.result.Err)
	case got != want:
		return fmt.Errorf("the model is wrong: by the model the story %q is %s, and by its history %s", steps, want, got)
	}
	return nil
}

// write writes the story as a scenario.
func (e *exploration) write(w io.Writer) error {
	text, err := e.world.File(language, e.steps, e.result.Outcome.Name)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// replay has real processes tell the story. The error says what else came of it, or why nothing did.
func (e *exploration) replay(cmd *cobra.Command, l look) error {
	dir, err := os.MkdirTemp("", "gcsim-explore-")
	if err != nil {
		return cannot(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "replayed.yaml")
	if err := write(file, e.write); err != nil {
		return cannot(err)
	}
	return runOptions{reports: reports{look: l}, side: 1, repeat: 1}.run(cmd, []string{file})
}

// print prints the story as a timeline, and how far the search came. Errors are kept by out.
func (e *exploration) print(out *output, o terminal.Options) {
	if e.found.Path != nil {
		_ = draw(terminal.New(out, o), e.result)
		fmt.Fprintln(out)
	}
	text := &printer{out: out, options: o, width: o.Width}
	text.tell(e.summary())
	for _, sentence := range e.idle {
		text.tell(sentence)
	}
	if e.found.Path == nil {
		text.tell("The model leaves out " + model.LeavesOut + ".")
	}
}

// summary says what was found, and in how many states.
func (e *exploration) summary() string {
	f, clients := e.found, len(e.world.Names.Clients)
	states := fmt.Sprintf("%d states in %.1f s", f.States, e.took.Seconds())
	none := fmt.Sprintf("No story of up to %d steps of %d clients does harm", f.Depth, clients)
	switch {
	case f.Path != nil:
		return fmt.Sprintf("No story of fewer than %d steps of %d clients does harm: %s.", len(f.Path), clients, states)
	case f.Whole:
		return fmt.Sprintf("No story of %d clients does harm, however long it is: %s, all of them.", clients, states)
	case f.Full:
		return fmt.Sprintf("%s. Then the memory was full: %s. More can be told with fewer clients or faults, or more --memory.", none, states)
	case e.stopped:
		return fmt.Sprintf("%s. Then the search was stopped: %s.", none, states)
	}
	return fmt.Sprintf("%s: %s, all of them.", none, states)
}

// json prints all that is known. Errors are kept by out.
func (e *exploration) json(out *output) {
	f := e.found
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	_ = enc.Encode(struct {
		Verdict string   `json:"verdict"` // on the smallest story that does harm; safe: none was found
		Steps   []string `json:"steps,omitempty"`
		Clients int      `json:"clients"`
		Depth   int      `json:"depth"` // all stories of so many steps were told
		States  int      `json:"states"`
		Bytes   int      `json:"bytes"`
		Whole   bool     `json:"whole"` // longer stories do nothing else
		Full    bool     `json:"full"`  // the memory was full before all was told
		Seconds float64  `json:"seconds"`
		Lacks   string   `json:"leaves_out"`
		Idle    []string `json:"adds_nothing,omitempty"` // which faults this world cannot have, and why
	}{tale.Verdict(f.Harm), e.steps, len(e.world.Names.Clients), f.Depth, f.States, f.Bytes, f.Whole, f.Full, e.took.Seconds(), model.LeavesOut, e.idle})
}
