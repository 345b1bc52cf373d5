package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/terminal"
	"github.com/fencelab/fencelab/internal/verdict"
)

// output is where gcsim prints. When it cannot be written to, nothing more is,
// and failed is called: nobody sees the rest.
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
	if err != nil {
		o.err = err
		o.failed()
	}
	return n, err
}

// drawResult draws the timeline of a run that is over, and its verdict.
func drawResult(w io.Writer, o terminal.Options, r story.Result) error {
	t, d := terminal.New(w, o), r.Drawing()
	if err := t.Add(d.Events, d.Outcome.Drawn()); err != nil {
		return err
	}
	return t.End(d.Outcome)
}

// printer prints what comes of runs, in order.
type printer struct {
	out     *output
	options terminal.Options
	drawn   bool               // every run is; otherwise those that are not as expected
	live    *terminal.Timeline // draws the first run while it goes on; nil: none is drawn so
	seen    []history.Event    // of the run that it draws
	printed int
	name    [2]int // columns of scenario and variant
	say     int    // and of what came of it
	width   int    // of a terminal's lines; 0: it is none, and lines are as long as they are
	narrow  bool   // a line has no room for both names: the scenario's stands above
	above   string // the one that does
}

func newPrinter(out *output, o terminal.Options, jobs []*job, drawn bool) *printer {
	p := &printer{out: out, options: o, drawn: drawn, say: len("corrupted, as expected of the control")}
	seed := 0 // what a line needs for it
	for _, j := range jobs {
		if j.variant.World.Pauses > 0 {
			seed = max(seed, len(seedOf(j.options.Seed)))
		}
		r := j.result()
		p.name[0], p.name[1] = max(p.name[0], len(r.Scenario)), max(p.name[1], len(r.Part()))
	}
	if onTerminal(out.Writer) {
		p.fit(max(o.Width, terminal.MinWidth), seed)
	}
	if drawn {
		p.live = terminal.New(out, o)
		jobs[0].options.Emit = p.emit
	}
	return p
}

// emit draws the events of a step, with all that is a violation by then. Errors are
// kept by out.
func (p *printer) emit(step []history.Event) {
	p.seen = append(p.seen, step...)
	v := verdict.Judge(p.seen)
	_ = p.live.Add(step, slices.Concat(v.Violations, v.Noted()))
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
	lines := []string{line}
	if p.width > 0 && ansi.StringWidth(line) > p.width {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines = wrap(line, p.width, indent, indent+"  ")
	}
	for _, line := range lines {
		fmt.Fprintln(p.out, line)
	}
}

// result prints what came of the next run. Errors are kept by out.
func (p *printer) result(r story.Result) {
	first := p.printed == 0
	p.printed++
	switch {
	case p.drawn && first && len(r.Events) > 0:
		_ = p.live.End(r.Drawing().Outcome)
	case p.drawn && len(r.Events) > 0:
		fmt.Fprintln(p.out)
		_ = drawResult(p.out, p.options, r)
	case !p.drawn:
		p.line(r)
		if !r.Expected() && len(r.Events) > 0 {
			fmt.Fprintln(p.out)
			_ = drawResult(p.out, p.options, r)
			fmt.Fprintln(p.out)
			p.above = ""
		}
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

// line prints a run in a line.
func (p *printer) line(r story.Result) {
	line := p.named(r.Scenario, r.Part())
	if r.Skipped != "" {
		p.tell(line + r.Said())
		return
	}
	line += fmt.Sprintf("%-*s %5.1f s", p.say, r.Said(), r.Took.Seconds())
	if seed := r.Run().Seed; seed != 0 {
		line += seedOf(seed)
	}
	p.tell(line)
}

// summary prints how all came out, and what is not as expected.
func (p *printer) summary(results []story.Result) {
	fmt.Fprintln(p.out)
	if p.drawn {
		for _, r := range results {
			p.line(r)
		}
		fmt.Fprintln(p.out)
	}
	if slices.ContainsFunc(results, func(r story.Result) bool { return r.Round > 0 }) {
		p.rounds(results)
	}
	p.tell(story.Summary(results))
	for _, r := range results {
		if r.Expected() || r.Skipped != "" {
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

// rounds prints how often each variant came to which end.
func (p *printer) rounds(results []story.Result) {
	p.above = ""
	for len(results) > 0 {
		r := results[0]
		same := func(o story.Result) bool { return o.Scenario == r.Scenario && o.Variant == r.Variant }
		n := slices.IndexFunc(results, func(o story.Result) bool { return !same(o) })
		if n < 0 {
			n = len(results)
		}
		var ends []string
		times := make(map[string]int)
		for _, o := range results[:n] {
			end := o.Said()
			if times[end]++; times[end] == 1 {
				ends = append(ends, end)
			}
		}
		results = results[n:]
		flaky := ""
		if len(ends) > 1 {
			flaky = "flaky: "
		}
		for i, end := range ends {
			ends[i] = fmt.Sprintf("%d of %d %s", times[end], n, end)
		}
		p.tell(p.named(r.Scenario, r.Variant) + flaky + strings.Join(ends, "; "))
	}
	fmt.Fprintln(p.out)
}

// next says where a reader can go from here; page is what shows all runs, if
// they were kept.
func (p *printer) next(page string) {
	other := `"gcsim run NAME" draws it`
	if p.drawn {
		other = `"gcsim list" names them all`
	}
	kept := "With -o DIR all is kept, and DIR/index.html shows it in a browser."
	if page != "" {
		kept = "Open " + page + " in a browser: it shows all runs."
	}
	fmt.Fprintln(p.out)
	p.tell(fmt.Sprintf("\"gcsim explain NAME\" tells what a scenario teaches, %s.", other))
	p.tell(kept)
}
