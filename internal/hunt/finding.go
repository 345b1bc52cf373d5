package hunt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/explore/world"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// What a finding can be, beside the verdicts history.Corrupted and history.Blocked.
const (
	Overlap   = "overlap"    // the lock service granted a lock that was held
	Disorder  = "disorder"   // a later grant had no higher token
	Unfenced  = "unfenced"   // by porcupine the storage broke the rule of a fence
	Contrary  = "contrary"   // accounts contradict each other
	CannotRun = "cannot run" // the story could not be told to its end
	Unlike    = "unlike"     // the model tells the story in another way
)

// Finding is a story that came out as it must not.
type Finding struct {
	World *World
	Story int    // its number, from 1
	Kind  string // a verdict, or one of the above, and the first rule that is broken, as in "corrupted: stale"
	Text  string // the same in a sentence
	Steps []scenario.Step
	Seen  int // how often the same was found when it was told Again times more
	Again int

	Small  []scenario.Step // what is left of it that does the same; nil: it was not made smaller
	Events []history.Event // of the last run of Small, or of Steps, that found the same

	smaller *World // where Small is told; nil: World
	careful bool   // it is made smaller only by what comes two times of three
	until   int    // so many of Steps had begun when it came; 0: that is not known
}

// run is one story as it came out.
type run struct {
	steps  []scenario.Step
	events []history.Event
	err    error
	met    []Meeting       // faults that the teller drew
	began  []time.Duration // when each step did, where the teller drew them
}

// slow has room for the stories that start servers of a kind that takes long: one for each processor. More of them would keep
// each other's servers from starting in time.
var slow = make(chan struct{}, runtime.NumCPU())

func (w *World) run(ctx context.Context, v *scenario.Variant, o lab.Options) ([]history.Event, error) {
	if w.service.Launch != nil && v.Own != "" {
		select {
		case slow <- struct{}{}:
			defer func() { <-slow }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return lab.Run(ctx, w.Scenario, v, o)
}

// tell has real processes tell a story.
func (w *World) tell(ctx context.Context, t *teller) run {
	o := w.Options
	o.Next, o.Look = t.next, func(events []history.Event) { t.events = events }
	events, err := w.run(ctx, w.Variant, o)
	return run{t.telling.Told(), events, err, t.met, t.began}
}

// again has real processes tell the steps of a story that is known.
func (f *Finding) again(ctx context.Context, steps []scenario.Step) run {
	w := f.where()
	v := *w.Variant
	v.Steps, v.Expect.Verdict = steps, f.verdict()
	events, err := w.run(ctx, &v, w.Options)
	return run{steps: steps, events: events, err: err}
}

// found is what is wrong with a run, and at which event; "" where nothing is that the world's promises rule out.
func (w *World) found(r run) (kind, text string, at int) {
	if r.err != nil {
		if w.expected(r) {
			return "", "", 0
		}
		return CannotRun, r.err.Error(), len(r.events) - 1
	}
	j, err := judge.Judge(r.events)
	if err != nil {
		return Contrary, err.Error(), len(r.events) - 1
	}
	if w.modelled != nil {
		kind, text = w.modelled.unlike(j.Name, world.Answers(r.events))
		return kind, text, len(r.events) - 1
	}
	p := w.promises(r.steps)
	for _, verdict := range []string{history.Corrupted, history.Blocked} {
		for _, v := range j.Violations {
			if v.Verdict == verdict && p.ruleOut(v) && !p.excuse(r.events, v) {
				return fmt.Sprintf("%s: %s", verdict, v.Kind), v.Text, v.Event
			}
		}
		if verdict == history.Corrupted {
			if kind, text, at := w.broken(r.events, j, p); kind != "" {
				return kind, text, at
			}
		}
	}
	return "", "", 0
}

// ruleOut reports whether a violation is of something that is promised.
func (p Promises) ruleOut(v history.Violation) bool {
	switch {
	case v.Verdict == history.Corrupted:
		return p.Pause && p.Ordered
	case v.Kind == history.Refusal:
		return p.Ordered
	}
	return p.Frees
}

// broken is a promise of the lock service or of the storage that does not hold.
func (w *World) broken(events []history.Event, j judge.Judgement, p Promises) (kind, text string, at int) {
	last := len(events) - 1
	switch {
	case p.Exclusive && !j.Exclusive && len(j.Overlaps) > 0:
		return Overlap, j.Overlaps[0].Text, last
	case p.Ordered && !j.Ordered && w.Checks():
		return Disorder, "tokens did not grow in the order of the grants", last
	case j.Storage.Fenced == judge.No && w.Checks() && w.Variant.World.Storage.Engine == scenario.EngineBolt:
		return Unfenced, "by porcupine the storage broke the rule of a fence", last
	case w.locks:
		return w.told(events, p)
	}
	return "", "", 0
}

// expected reports whether a run could not be told to its end for a reason that is none of the lab's: it was stopped, or
// its last step waited for what need not come.
func (w *World) expected(r run) bool {
	stopped := errors.Is(r.err, context.Canceled) || errors.Is(r.err, context.DeadlineExceeded)
	return stopped || len(r.steps) > 0 && r.steps[len(r.steps)-1].Verb == scenario.Await
}

// excuse reports whether a client was not granted a lock because a fault that goes on keeps it from the lock service, or
// because it gave up before the lock was free for as long as a grant may take. A lock without a lease stays taken until
// its holder is killed, and the lock service can hear of that.
func (p Promises) excuse(events []history.Event, v history.Violation) bool {
	gaveUp := events[v.Event]
	switch v.Kind {
	case history.NotGranted:
	case history.Orphaned:
		return !p.Leased && !stateOf(events[:v.Event]).holderKilled()
	default:
		return false
	}
	for _, e := range events[:v.Event] {
		late := e.At >= gaveUp.At-max(events[0].Run.Handover, service.Slack)
		if e.Kind == history.KindEnded && e.Scope == gaveUp.Scope && late && gaveUp.Op == history.OpLock {
			return true
		}
	}
	before := stateOf(events[:v.Event])
	client, servers := gaveUp.Lane, events[0].Run.LockService()
	return before.still[client] || before.still[servers] || before.cut[client] || before.cut[servers] || before.stands[before.leader]
}

// possible are those// possible are those of some steps that can be told one after the other; none where the story cannot end after them.
func (w *World) possible(steps []scenario.Step) []scenario.Step {
	t := w.language.Tell(w.Scenario, w.Variant)
	for _, s := range steps {
		_, _ = t.Take(s.String()) // what cannot come is left out
	}
	if t.CanEnd() != nil {
		return nil
	}
	return t.Told()
}

// without is a list without the places that drop has.
func without[T any](list []T, drop ...int) (left []T) {
	for i, one := range list {
		if !slices.Contains(drop, i) {
			left = append(left, one)
		}
	}
	return left
}
