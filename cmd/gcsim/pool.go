package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// defaultSide is how many runs are made side by side. They mostly wait, for leases
// to run out, so it is well above the number of CPUs. On two cores all scenarios
// took 30 s with 4 of them, 16 s with 8, and 23 to 31 s with 16 to 48: those are in
// the way of the one that measures how long a collection takes.
const defaultSide = 8

// job is one run to make.
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
	return story.Result{Scenario: j.scenario.Name, Title: j.scenario.Title, Variant: j.variant.Name, Control: j.variant.Control, Round: j.round}
}

// plan is all runs, in the order in which they are reported. Each round has a seed
// of its own.
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

// controlFirst is the order in which to tell runs: those of a scenario together, the
// harm before what helps.
func controlFirst[T any](list []T, of func(T) story.Result) []T {
	place := make(map[string]int) // of a scenario
	for i, r := range list {
		if name := of(r).Scenario; place[name] == 0 {
			place[name] = i + 1
		}
	}
	rank := func(r story.Result) int {
		if r.Control {
			return 2 * place[r.Scenario]
		}
		return 2*place[r.Scenario] + 1
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b T) int { return cmp.Compare(rank(of(a)), rank(of(b))) })
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

// start begins to make and to save runs. Each job gets its result, also where ctx ends before.
func (p *pool) start(ctx context.Context, jobs []*job) {
	p.running = make(map[*job]time.Time)
	var g errgroup.Group
	g.SetLimit(p.side)
	go func() {
		for _, j := range longestFirst(jobs) {
			g.Go(func() error {
				r := p.run(ctx, j)
				p.keep(r)
				j.done <- r
				return nil
			})
		}
	}()
}

// run makes one run.
func (p *pool) run(ctx context.Context, j *job) story.Result {
	r := j.result()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, j)
		p.over++
	}()
	if r.Skipped = j.skipped; ctx.Err() != nil {
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
	return r
}

// keep saves what came of a run, as soon as it is over.
func (p *pool) keep(r story.Result) {
	if p.save == nil {
		return
	}
	if err := p.save(r); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unsaved = append(p.unsaved, err)
	}
}
