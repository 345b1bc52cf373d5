package hunt

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/history"
)

// Options say how long a hunt lasts, and what it tells.
type Options struct {
	Worlds  []*World // each story is told in one of them, by turns
	For     time.Duration
	Stories int // at most; 0: as many as there is time for
	Side    int // side by side
	Seed    uint64
	Whole   bool // what is found is made no smaller
	Until   int  // the hunt for more ends with so many findings that are no Blocked; 0: it does not
}

// Again is how often a finding is told again.
const Again = 5

// Hunt is what a hunt has found. Its methods can be called while it goes on.
type Hunt struct {
	options Options
	mu      sync.Mutex
	began   time.Time
	report  Report
	vain    int // how many worlds did not start since one did
	end     context.CancelFunc
}

// Report is how far a hunt is.
type Report struct {
	Stories  int
	Took     time.Duration // of the stories; what comes after is not in it
	Findings []*Finding    // of each world and kind the first, what corrupts before what blocks
	Coverage map[Cell]int
	// Unstarted is of how many stories the world did not start, and Why is why the last one's did not. Where that comes
	// several times in a row, it ends the hunt, and Err says why.
	Unstarted int
	Why, Err  error
}

// inVain is how many worlds in a row do not start until the hunt ends.
const inVain = 3

// Cell is a fault that came at some point of the stories of a world.
type Cell struct {
	World string `json:"world"`
	Meeting
}

// New is a hunt that is yet to begin.
func New(o Options) *Hunt {
	return &Hunt{options: o, report: Report{Coverage: make(map[Cell]int)}}
}

// Report is what was found so far.
func (h *Hunt) Report() Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.report
	r.Findings = slices.Clone(r.Findings)
	if r.Took == 0 && !h.began.IsZero() {
		r.Took = time.Since(h.began)
	}
	return r
}

// Run tells stories until their time or their number is over, and then makes each finding smaller that comes again. It
// returns early when ctx is over, with what there is.
func (h *Hunt) Run(ctx context.Context) {
	h.tellAll(ctx)
	for _, f := range h.Report().Findings {
		if f.Again == 0 {
			h.confirm(ctx, f)
		}
		if f.Seen > 0 && !h.options.Whole && f.World.modelled == nil && ctx.Err() == nil {
			h.shrink(ctx, f)
		}
	}
}

// tellAll tells stories. Those that are under way when the time is over are stopped.
func (h *Hunt) tellAll(ctx context.Context) {
	h.mu.Lock()
	h.began = time.Now()
	if ctx, h.end = context.WithCancel(ctx); h.options.For > 0 {
		ctx, h.end = context.WithTimeout(ctx, h.options.For)
	}
	h.mu.Unlock()
	defer h.end()
	var g errgroup.Group
	g.SetLimit(h.options.Side)
	for n := 1; ctx.Err() == nil && (h.options.Stories == 0 || n <= h.options.Stories); n++ {
		g.Go(func() error {
			h.tellOne(ctx, n)
			return nil
		})
	}
	_ = g.Wait() // stories return no errors
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report.Took = time.Since(h.began)
	slices.SortStableFunc(h.report.Findings, func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Story, b.Story))
	})
}

// rank is how much a finding weighs, the heaviest first.
func (f *Finding) rank() int {
	switch f.judged() {
	case history.Corrupted:
		return 0
	case history.Blocked:
		return 2
	}
	return 1
}

// verdict is the expectation of a scenario that has the same found.
func (f *Finding) verdict() string {
	if m := f.World.modelled; m != nil {
		return m.verdict
	}
	return cmp.Or(f.judged(), history.Safe)
}

// judged is the verdict that the finding is; "": it is another one.
func (f *Finding) judged() string {
	verdict, _, _ := strings.Cut(f.Kind, ":")
	if verdict == history.Corrupted || verdict == history.Blocked {
		return verdict
	}
	return ""
}

// tellOne tells the story of a number. The same seed and number, and the same answers, make the same choices.
func (h *Hunt) tellOne(ctx context.Context, n int) {
	if ctx.Err() != nil {
		return
	}
	w := h.options.Worlds[n%len(h.options.Worlds)]
	var r run
	random := rand.New(rand.NewPCG(h.options.Seed, uint64(n)))
	if w.model != nil {
		w, r = w.tellModelled(ctx, random)
	} else {
		r = w.tell(ctx, newTeller(w, random))
	}
	if ctx.Err() != nil {
		return // it may have been stopped
	}
	if len(r.events) == 0 {
		h.unstarted(r.err)
		return
	}
	kind, text, at := w.found(r)
	h.mu.Lock()
	h.report.Stories++
	h.vain = 0
	for _, m := range r.met {
		h.report.Coverage[Cell{w.Name, m}]++
	}
	h.mu.Unlock()
	if kind == "" {
		return
	}
	f := &Finding{World: w, Story: n, Kind: kind, Text: text, Steps: r.steps, Events: r.events}
	for f.until < len(r.began) && r.began[f.until] <= r.events[at].At {
		f.until++
	}
	if h.note(f) {
		h.confirm(ctx, f)
		h.enough()
	}
}

// unstarted keeps why a story's world did not start. A busy machine has that now and then, and a hunt of hours goes on.
func (h *Hunt) unstarted(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.report.Unstarted++
	h.report.Why = why
	if h.vain++; h.vain == inVain {
		h.report.Err = why
		h.end()
	}
}

// note reports whether a finding is the first of its world and kind, and keeps it then. One that did not come again counts
// for none.
func (h *Hunt) note(f *Finding) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := func(g *Finding) bool { return g.World.Name == f.World.Name && g.Kind == f.Kind }
	switch i := slices.IndexFunc(h.report.Findings, same); {
	case i < 0:
		h.report.Findings = append(h.report.Findings, f)
	case h.report.Findings[i].Sure():
		return false
	default:
		h.report.Findings[i] = f
	}
	return true
}

// enough ends the stories where so much was found as is wanted.
func (h *Hunt) enough() {
	h.mu.Lock()
	defer h.mu.Unlock()
	heavy := 0
	for _, f := range h.report.Findings {
		if f.Seen > 0 && f.rank() < 2 {
			heavy++
		}
	}
	if h.options.Until > 0 && heavy >= h.options.Until {
		h.end()
	}
}
