package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// defaultSide is how many runs are made side by side. They mostly wait, for leases to run out, so it is well
// above the number of CPUs. On two cores all scenarios took 30 s with 4 of them, 16 s with 8, and 23 to 31 s
// with 16 to 48: those are in the way of the one that measures how long a collection takes.
const defaultSide = 8

type job struct {
	scenario *scenario.Scenario
	variant  *scenario.Variant
	round    int    // of several, from 1; 0: there is only one
	skipped  string // why it is not made; "": it is
	options  lab.Options
	done     chan story.Result // gets one
}

// result is what comes of a run, before it is made.
func (j *job) result() story.Result {
	return story.Result{Service: j.variant.World.Service, Scenario: j.scenario.Name, Title: j.scenario.Title, Variant: j.variant.Name, Control: j.variant.Control,
		Round: j.round, Skipped: j.skipped, Yours: j.options.UsersStorage != nil}
}

// plan is all runs, in the order in which they are reported. Each round has a seed of its own.
func plan(list []*scenario.Scenario, repeat int, o lab.Options) []*job {
	var jobs []*job
	for _, s := range list {
		for i := range s.Variants {
			for n := range repeat {
				j := &job{scenario: s, variant: &s.Variants[i], options: o, done: make(chan story.Result, 1)}
				j.options.Seed += uint64(n)
				if repeat > 1 {
					j.round = n + 1
				}
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// longestFirst is the order in which to begin runs, so that no long one is left for
// the end: those that measure a heap, those that start servers which take long, those
// that count or stop somebody for a time, the others.
func longestFirst(jobs []*job) []*job {
	class := make(map[*job]int)
	started := make(map[string]bool) // services whose servers are shared, and are started by a run before
	for _, j := range jobs {
		has := func(such func(scenario.Step) bool) bool { return slices.ContainsFunc(j.variant.Steps, such) }
		switch {
		case has(func(s scenario.Step) bool { return s.Verb == scenario.Load }):
		case j.starts(started):
			class[j] = 1
		case has(func(s scenario.Step) bool { return s.Verb == scenario.Count || s.For > 0 }):
			class[j] = 2
		default:
			class[j] = 3
		}
	}
	return slices.SortedStableFunc(slices.Values(jobs), func(a, b *job) int { return cmp.Compare(class[a], class[b]) })
}

// starts reports whether the run starts servers of those that take long, which others share where
// they can. It is the first of its service, or has servers of its own.
func (j *job) starts(started map[string]bool) bool {
	name := j.variant.World.Service
	if s := service.Named(j.options.Services, name); s == nil || s.Launch == nil || j.skipped != "" {
		return false
	}
	first := !started[name]
	started[name] = true
	return first || j.variant.Own != ""
}

// pool makes runs side by side.
type pool struct {
	side int                      // at most so many
	save func(story.Result) error // keeps what came of one; nil: nothing is kept

	mu      sync.Mutex
	unsaved []error
	running map[*job]time.Time // since when
	over    int
}

// start begins to make runs. Each job gets its result, also where ctx ends before.
func (p *pool) start(ctx context.Context, jobs []*job) {
	p.running = make(map[*job]time.Time)
	var g errgroup.Group
	g.SetLimit(p.side)
	go func() {
		for _, j := range longestFirst(jobs) {
			g.Go(func() error {
				j.done <- p.run(ctx, j)
				return nil
			})
		}
	}()
}

// run makes a run, and saves what came of it.
func (p *pool) run(ctx context.Context, j *job) story.Result {
	r := j.result()
	if ctx.Err() != nil {
		r.Skipped = "gcsim was stopped before"
	}
	began := time.Now()
	if r.Skipped == "" {
		p.mu.Lock()
		p.running[j] = began
		p.mu.Unlock()
		events, err := lab.Run(ctx, j.scenario, j.variant, j.options)
		took := time.Since(began)
		if r.Err = err; len(events) > 0 {
			r = resultOf(events, err)
		}
		r.Took = took
	}
	r.Began, r.Round, r.Yours = began, j.round, j.options.UsersStorage != nil
	var unsaved error
	if p.save != nil {
		unsaved = p.save(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, j)
	p.over++
	p.unsaved = append(p.unsaved, unsaved)
	return r
}

// silence is how long nothing is printed before a progress says what goes on.
const silence = 2 * time.Second

// progress is a line on a terminal that says what goes on while nothing else is
// printed. It is rewritten in place, and gone at the end.
type progress struct {
	w       io.Writer
	silence time.Duration
	width   func() int
	line    func() string

	mu    sync.Mutex
	since time.Time // of the silence
	shown string
	stop  chan struct{}
	over  sync.WaitGroup
}

// newProgress shows on w what line says, until end; nothing where w is no terminal.
func newProgress(w io.Writer, line func() string) *progress {
	p := &progress{w: io.Discard, silence: silence, line: line, since: time.Now(), stop: make(chan struct{})}
	if !onTerminal(w) || os.Getenv("TERM") == "dumb" {
		return p
	}
	f := w.(term.File)
	p.w = w
	p.width = func() int {
		width, _, err := term.GetSize(f.Fd())
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
	p.over.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			p.show()
			select {
			case <-tick.C:
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// onTerminal reports whether w, or what is read from, is a terminal.
func onTerminal(w any) bool {
	f, ok := w.(term.File)
	return ok && term.IsTerminal(f.Fd())
}

// eraseLine goes to the beginning of the line, and erases it.
const eraseLine = "\r" + ansi.EraseLineRight

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.since) < p.silence {
		return
	}
	if line := ansi.Truncate(p.line(), p.width()-1, "..."); line != p.shown {
		p.shown = line
		fmt.Fprint(p.w, eraseLine+line)
	}
}

// print lets something else be printed: the line is out of its way meanwhile.
func (p *progress) print(other func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.w, eraseLine)
	p.shown = ""
	other()
	p.since = time.Now()
}

func (p *progress) end() {
	close(p.stop)
	p.over.Wait()
	fmt.Fprint(p.w, eraseLine)
}

// progress says how far the runs are, and which are under way, the longest first.
func (p *pool) progress(all int, now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := slices.SortedFunc(maps.Keys(p.running), func(a, b *job) int { return p.running[a].Compare(p.running[b]) })
	var names []string
	for _, j := range oldest {
		names = append(names, fmt.Sprintf("%s %s %.0f s", j.scenario.Name, j.variant.Name, now.Sub(p.running[j]).Seconds()))
	}
	said := fmt.Sprintf("%d of %d runs done", p.over, all)
	if len(names) > 0 {
		said += fmt.Sprintf("; %d going on: %s", len(names), strings.Join(names, ", "))
	}
	return said
}
