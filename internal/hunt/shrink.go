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

// tries is how often a smaller story is told. It takes the place of the larger one if the same comes of it once.
func (f *Finding) tries() int {
	if f.Seen == f.Again {
		return 1
	}
	return 2
}

// shrink takes steps away as long as the same is found, and keeps what is left if the same comes of that at more than half
// of the rate.
func (h *Hunt) shrink(ctx context.Context, f *Finding) {
	small := h.smallest(ctx, f)
	if seen, events := h.rate(ctx, f, small, Again); ctx.Err() == nil && 2*seen > f.Seen {
		h.settle(f, small, seen, events)
	}
}

// smallest takes steps away: what comes after the finding, then each step, and each two of which the later one cannot come
// without the earlier one.
func (h *Hunt) smallest(ctx context.Context, f *Finding) []scenario.Step {
	best := f.Steps
	if f.until > 0 && f.until < len(best) {
		if h.same(ctx, f, best, []drop{from(f.until, len(best))}) != nil {
			best = best[:f.until]
		}
	}
	for ctx.Err() == nil {
		var ones, twos []drop
		for i := range best {
			if _, whole := f.World.whole(without(best, i)); whole {
				ones = append(ones, drop{i})
				continue
			}
			for k := i + 1; k < len(best); k++ { // as a resume, without which there can be no pause
				twos = append(twos, drop{i, k})
			}
		}
		smaller := h.most(ctx, f, best, ones)
		if smaller == nil {
			smaller = h.most(ctx, f, best, twos)
		}
		if smaller == nil {
			break
		}
		best = smaller
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
			return without(steps, all...)
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
		left, whole := f.World.whole(without(steps, d...))
		if !whole {
			continue
		}
		g.Go(func() error {
			seen, _ := h.rate(ctx, f, left, f.tries())
			found[i] = seen > 0
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
