package hunt

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// confirm tells a finding again, and says how often the same came of it.
func (h *Hunt) confirm(ctx context.Context, f *Finding) {
	seen, events := h.rate(ctx, f, f.Steps, Again)
	if ctx.Err() == nil {
		h.settle(f, nil, seen, events)
	}
}

// settle keeps how often the same came of the steps of a finding, or of the few that are left of them.
func (h *Hunt) settle(f *Finding, small []scenario.Step, seen int, events []history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.Small, f.Seen, f.Again = small, seen, Again
	if events != nil {
		f.Events = events
	}
}

// rate is how often the same is found when steps are told so many times, side by side, and the events of such a run.
func (h *Hunt) rate(ctx context.Context, f *Finding, steps []scenario.Step, times int) (seen int, events []history.Event) {
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(h.options.Side)
	for range times {
		g.Go(func() error {
			r := f.again(ctx, steps)
			if kind, _, _ := f.World.found(r); kind == f.Kind {
				mu.Lock()
				seen, events = seen+1, r.events
				mu.Unlock()
			}
			return nil
		})
	}
	_ = g.Wait() // runs return no errors
	return seen, events
}

// comes reports whether the same comes of a smaller story. It is told once, and twice where the same did not always come
// before. A careful hunt wants the same two times of three.
func (h *Hunt) comes(ctx context.Context, f *Finding, steps []scenario.Step) bool {
	times, want := 1, 1
	switch {
	case f.careful:
		times, want = 3, 2
	case f.Seen < f.Again:
		times = 2
	}
	seen, _ := h.rate(ctx, f, steps, times)
	return seen >= want && ctx.Err() == nil
}

// shrink takes steps, clients and settings away as long as the same is found, and keeps what is left if the same comes of
// that at more than half of the rate. If it does not, it starts again, and is careful.
func (h *Hunt) shrink(ctx context.Context, f *Finding) {
	for _, careful := range []bool{false, true} {
		left := *f
		left.careful = careful
		left.Steps = h.smallest(ctx, &left)
		for _, change := range f.World.plainer(left.Steps) {
			h.move(ctx, &left, change)
		}
		if seen, events := h.rate(ctx, &left, left.Steps, Again); ctx.Err() == nil && 2*seen > f.Seen {
			f.smaller = left.smaller
			h.settle(f, left.Steps, seen, events)
			return
		}
	}
}

// smallest takes steps away: what comes after the finding, then ever shorter parts of the story. What then can come no
// more, as a resume without a pause, goes with them.
func (h *Hunt) smallest(ctx context.Context, f *Finding) []scenario.Step {
	best := f.Steps
	if f.until > 0 && f.until < len(best) {
		if smaller := h.most(ctx, f, best, []drop{from(f.until, len(best))}); smaller != nil {
			best = smaller
		}
	}
	for part := len(best) / 2; part > 0 && ctx.Err() == nil; {
		var drops []drop
		for at := 0; at < len(best); at += part {
			drops = append(drops, from(at, min(at+part, len(best))))
		}
		switch smaller := h.most(ctx, f, best, drops); {
		case smaller == nil:
			part /= 2
		default:
			best, part = smaller, min(part, max(1, len(smaller)/2))
		}
	}
	return best
}

// drop is the places of steps that are taken away.
type drop []int

func from(first, end int) (d drop) {
	for i := first; i < end; i++ {
		d = append(d, i)
	}
	return d
}

// most takes away as many of some drops as it can at once; nil: none of them.
func (h *Hunt) most(ctx context.Context, f *Finding, steps []scenario.Step, drops []drop) []scenario.Step {
	good := h.same(ctx, f, steps, drops)
	for n := len(good); n > 0; n /= 2 {
		all := slices.Concat(good[:n]...)
		if n == 1 || h.same(ctx, f, steps, []drop{all}) != nil {
			return f.World.possible(without(steps, all...))
		}
	}
	return nil
}

// same are those of some drops without which the story does the same. All are told side by side.
func (h *Hunt) same(ctx context.Context, f *Finding, steps []scenario.Step, drops []drop) (good []drop) {
	found := make([]bool, len(drops))
	var g errgroup.Group
	g.SetLimit(h.options.Side)
	for i, d := range drops {
		left := f.World.possible(without(steps, d...))
		if len(left) == 0 {
			continue
		}
		g.Go(func() error {
			found[i] = h.comes(ctx, f, left)
			return nil
		})
	}
	_ = g.Wait() // runs return no errors
	for i, d := range drops {
		if found[i] {
			good = append(good, d)
		}
	}
	return good
}

// move has a finding be of a smaller world if its story can be told there, and does the same.
func (h *Hunt) move(ctx context.Context, f *Finding, change func(*World) bool) {
	there, w := *f, f.where().copied()
	if there.smaller = w; !change(w) || !there.parses() {
		return
	}
	if h.comes(ctx, &there, f.Steps) {
		f.smaller = w
	}
}
