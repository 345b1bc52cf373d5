package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/platform/columns"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
)

// output is where gcsim prints. When it cannot be written to, nothing more is,
// and failed is called, if it is set: nobody sees the rest.
type output struct {
	io.Writer
	err    error
	failed func()
}

func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.Writer.Write(b)
	if o.err = err; err != nil && o.failed != nil {
		o.failed()
	}
	return n, err
}

// judgement is what came of all laws or checks.
type judgement interface {
	Summary() string
	JSON(io.Writer) error
}

// end prints all of a judgement, or, of one that was told as text, the end. It returns why
// something could not be printed.
func (o *output) end(j judgement, json bool) error {
	if json {
		_ = j.JSON(o)
	} else {
		fmt.Fprintf(o, "\n%s\n", j.Summary())
	}
	if o.err != nil {
		return fmt.Errorf("print: %w", o.err)
	}
	return nil
}

// judged is how a command ends after a judgement, which may be open, or find that something is
// broken. err is why the judgement could not be made.
func judged(cmd *cobra.Command, err error, j judgement, open, broken bool) error {
	switch {
	case cmd.Context().Err() != nil:
		return &cli.ExitError{Code: exitStopped, Err: fmt.Errorf("stopped before the end: %s", j.Summary())}
	case err != nil:
		return cannot(err)
	case open:
		return cannot(errors.New(j.Summary()))
	case broken:
		return &cli.ExitError{Code: exitDiffers, Err: errors.New(j.Summary())}
	}
	return nil
}

// draw draws a run that is over, and its verdict.
func draw(t *terminal.Timeline, r story.Result) error {
	d := r.Drawing()
	if err := t.Add(d.Events, d.Outcome.Drawn()); err != nil {
		return err
	}
	return t.End(d)
}

type printer struct {
	out      *output
	options  terminal.Options
	drawn    bool                 // every run is; otherwise those that are not as expected
	timeline *terminal.Timeline   // on which every run is drawn
	steps    chan []history.Event // of the first one, which is drawn while it goes on; nil: it is not
	told     chan struct{}        // is closed when they are drawn
	seen     []history.Event      // of them
	line     *progress
	printed  int
	name     [2]int // columns of scenario and variant
	say      int    // and of what came of it
	width    int    // of lines; 0: they are as long as they are
	narrow   bool   // a line has no room for both names: the scenario's stands above
	above    string // the one that does
}

// newPrinter returns one that prints on out, and clears line meanwhile. live: the first run is drawn while it goes on.
func newPrinter(out *output, line *progress, o terminal.Options, jobs []*job, drawn, live bool) *printer {
	p := &printer{out: out, line: line, options: o, drawn: drawn, timeline: terminal.New(out, o), say: len("corrupted, as expected of the control")}
	seed := 0 // what a line needs for it
	for _, j := range jobs {
		if j.variant.World.Pauses > 0 {
			seed = max(seed, len(seedOf(j.options.Seed)))
		}
		r := j.result()
		p.name[0], p.name[1] = max(p.name[0], len(r.Scenario)), max(p.name[1], len(r.Part()))
	}
	if o.Width > 0 {
		p.fit(max(o.Width, terminal.MinWidth), seed)
	}
	if live {
		// The world does not wait until a step is drawn, unless it is very far ahead.
		p.steps, p.told = make(chan []history.Event, 1000), make(chan struct{})
		jobs[0].options.Emit = func(step []history.Event) { p.steps <- step }
		go p.follow(p.steps)
	}
	return p
}

func (p *printer) follow(steps <-chan []history.Event) {
	defer close(p.told)
	for step := range steps {
		p.step(step)
	}
}

// step draws the events of a step, with all that is a violation by then. Errors are kept by out.
func (p *printer) step(step []history.Event) {
	p.seen = append(p.seen, step...)
	v := verdict.Judge(p.seen)
	p.line.print(func() { _ = p.timeline.Add(step, slices.Concat(v.Violations, v.Noted())) })
}

// catchUp returns when all steps of the first run are drawn, which is over.
func (p *printer) catchUp() {
	if p.steps != nil {
		close(p.steps)
		<-p.told
		p.steps = nil
	}
}

// fit makes lines fit into a terminal's width.
func (p *printer) fit(width, seed int) {
	p.width = width
	p.narrow = width < p.name[0]+p.name[1]+p.say+len("    1000.0 s")+seed
}

// seedOf ends the line of a run that chose at random.
func seedOf(seed uint64) string { return fmt.Sprintf("  seed %d", seed) }

// tell prints a line. On a terminal it is broken between words where it is too
// long; what comes next is indented.
func (p *printer) tell(line string) {
	if p.width > 0 && ansi.StringWidth(line) > p.width {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		line = columns.Wrap(line, p.width, indent, indent+"  ")
	}
	fmt.Fprintln(p.out, line)
}

// result prints what came of the next run. Errors are kept by out.
func (p *printer) result(r story.Result) {
	live := p.told != nil && p.printed == 0
	p.printed++
	switch {
	case r.Skipped != "": // the summary says it
	case !p.drawn:
		p.tellLine(r)
		if !r.Expected() && len(r.Events) > 0 {
			fmt.Fprintln(p.out)
			_ = draw(terminal.New(p.out, p.options), r)
			fmt.Fprintln(p.out)
			p.above = ""
		}
	case len(r.Events) == 0:
	case live:
		_ = p.timeline.End(r.Drawing())
	default:
		_ = draw(p.timeline, r)
	}
}

// named begins a line with what a run is called.
func (p *printer) named(scenario, variant string) string {
	if !p.narrow {
		return fmt.Sprintf("%-*s  %-*s  ", p.name[0], scenario, p.name[1], variant)
	}
	if p.above != scenario {
		p.above = scenario
		fmt.Fprintln(p.out, scenario)
	}
	return fmt.Sprintf(" %-*s  ", p.name[1], variant)
}

func (p *printer) tellLine(r story.Result) {
	line := p.named(r.Scenario, r.Part()) + fmt.Sprintf("%-*s %5.1f s", p.say, r.Said(), r.Took.Seconds())
	if seed := r.Run().Seed; seed != 0 {
		line += seedOf(seed)
	}
	p.tell(line)
}

// summary prints how all came out, what was left out, and what is not as expected. Where all
// runs were drawn, and are as expected, nothing is left to say.
func (p *printer) summary(results []story.Result) {
	if p.drawn && !slices.ContainsFunc(results, func(r story.Result) bool { return !r.Expected() }) {
		return
	}
	fmt.Fprintln(p.out)
	isSkipped := func(r story.Result) bool { return r.Skipped != "" }
	made := slices.DeleteFunc(slices.Clone(results), isSkipped)
	if p.drawn && len(made) > 0 {
		for _, r := range made {
			p.tellLine(r)
		}
		fmt.Fprintln(p.out)
	}
	if slices.ContainsFunc(made, func(r story.Result) bool { return r.Round > 0 }) {
		p.rounds(made)
	}
	p.tell(story.Summary(results))
	p.leftOut(story.LeftOut(results))
	for _, r := range made {
		if r.Expected() {
			continue
		}
		fmt.Fprintln(p.out)
		p.tell(r.Name() + ": " + r.Said())
		for _, text := range r.Reasons() {
			for line := range strings.SplitSeq(text, "\n") {
				p.tell("  " + line)
			}
		}
	}
}

// leftOut prints which runs were not tried, below each reason. The summary has the only one.
func (p *printer) leftOut(groups [][]story.Result) {
	for _, of := range groups {
		if len(groups) > 1 {
			p.tell(fmt.Sprintf("%d left out: %s", len(of), of[0].Skipped))
		}
		var names []string
		for _, r := range of {
			names = append(names, r.Name())
		}
		p.tell("  " + strings.Join(names, ", "))
	}
}

// rounds prints how often each variant came to which end.
func (p *printer) rounds(results []story.Result) {
	p.above = ""
	for _, of := range story.Grouped(results, func(r story.Result) string { return r.Scenario + " " + r.Variant }) {
		var ends []string
		times, known := make(map[string]int), make(map[string]bool)
		for _, o := range of {
			end := o.Said()
			if times[end]++; times[end] == 1 {
				ends = append(ends, end)
			}
			if !o.Outcome.Open {
				known[end] = true
			}
		}
		flaky := ""
		if len(known) > 1 {
			flaky = "flaky: "
		}
		for i, end := range ends {
			ends[i] = fmt.Sprintf("%d of %d %s", times[end], len(of), end)
		}
		p.tell(p.named(of[0].Scenario, of[0].Variant) + flaky + strings.Join(ends, "; "))
	}
	fmt.Fprintln(p.out)
}

// next says where a reader can go from here; page is what shows all runs, "" where they were not kept.
func (p *printer) next(results []story.Result, page string) {
	one := p.drawn && len(story.Grouped(results, story.OfScenario)) == 1
	switch {
	case one:
		p.lesson(results[0].Run())
	case p.drawn:
		fmt.Fprintln(p.out)
		p.tell("\"gcsim explain NAME\" tells what a scenario teaches, \"gcsim list\" names them all.")
	default:
		fmt.Fprintln(p.out)
		p.tell("\"gcsim explain NAME\" tells what a scenario teaches, \"gcsim run NAME\" draws it.")
	}
	switch {
	case page != "":
		p.tell("Open " + page + " in a browser: it shows all runs.")
	case !one:
		p.tell("With -o DIR all is kept, and DIR/index.html shows it in a browser.")
	}
}

// lesson says what helps against what was told, and where there is more of it.
func (p *printer) lesson(run history.Run) {
	text := prose{p.out, cmp.Or(p.width, defaultProse)}
	if run.Helps != "" {
		text.paragraph("", "What helps: "+story.Prose(run.Helps))
	}
	next := self() + " list"
	if chapterFile(run.Scenario) != "" {
		next = fmt.Sprintf("%s explain %s", self(), shortName(run.Scenario)) + words(p.told != nil, ", or this command with --step", "")
	}
	text.paragraph("", "Next: "+next)
}
