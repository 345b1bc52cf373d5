package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
)

// mostSteps is how many steps a story can have: a run keeps all that happens in memory.
const mostSteps = 200

type beginning struct {
	scenario  *scenario.Scenario
	variant   *scenario.Variant
	challenge *Challenge
	plan      []string // steps that are proposed
	first     int      // so many of them are done at once
}

// world is a story that is told by requests, and its run.
type world struct {
	id     string
	server *Server
	beginning
	cancel context.CancelCauseFunc
	left   chan struct{} // closed when nobody needs the world any more

	mu      sync.Mutex
	telling *scenario.Telling
	steps   chan scenario.Step
	asked   int             // how often the run has asked for a step
	ended   bool            // there will be no more steps
	back    *wish           // the story with the plan that was left by another step; nil: none was
	events  []history.Event // so far; never changed, but replaced
	seen    map[string]bool // tenures whose end was looked at
	began   time.Time       // when the run's clock was 0
	result  *story.Result   // when it is over
	version int
	changed chan struct{} // closed with each version
	readers int
	gone    bool        // left is closed
	alone   *time.Timer // runs while there are no readers
	idle    *time.Timer // runs while the story waits for a step
}

func newWorld(id string, s *Server, b beginning) *world {
	free := *b.variant
	free.Expect = history.Expect{} // a person tells the story, and not as its scenario does
	b.variant = &free
	return &world{
		id: id, server: s, beginning: b, left: make(chan struct{}),
		telling: s.Language.Tell(b.scenario, b.variant), steps: make(chan scenario.Step, mostSteps),
		seen: make(map[string]bool), changed: make(chan struct{}),
	}
}

// isOver reports whether the run has ended: no process is left.
func (w *world) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.result != nil
}

func (w *world) run(ctx context.Context, o lab.Options) {
	o.Next, o.Look = w.next, w.look
	events, err := lab.Run(ctx, w.scenario, w.variant, o)
	result := story.Result{Scenario: w.scenario.Name, Err: err}
	if len(events) > 0 {
		result = w.server.Judge(events, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(events) > 0 {
		w.events = events
	}
	w.result, w.ended = &result, true
	if w.idle != nil {
		w.idle.Stop()
	}
	w.change()
}

// next is lab.Options.Next.
func (w *world) next() <-chan scenario.Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if over := w.overSteps(); over > 0 {
		w.follow(&w.telling.Told()[over-1])
	}
	if w.idle == nil {
		idle := w.server.Idle
		w.idle = time.AfterFunc(idle, func() { w.cancel(fmt.Errorf("nobody did anything for %v", idle)) })
	}
	w.idle.Reset(w.server.Idle)
	w.change()
	return w.steps
}

// look is lab.Options.Look.
func (w *world) look(events []history.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = events
	last := events[len(events)-1]
	if began := time.Now().Add(-last.At); w.began.IsZero() || began.Before(w.began) {
		w.began = began
	}
	if w.waits() {
		w.follow(nil)
	}
	w.change()
}

// follow makes steps of what happens by itself, so that the story can be told again. last is as in awaitExpired.
func (w *world) follow(last *scenario.Step) {
	ledger := history.Fold(w.events)
	w.awaitExpired(ledger, last)
	for _, name := range w.scenario.Clients {
		w.awaitGranted(ledger, name)
	}
}

// awaitGranted makes a step of a grant for which a client has queued, as soon as the client knows of it.
func (w *world) awaitGranted(ledger *history.Ledger, client string) {
	for _, lock := range w.telling.Client(client).Queued {
		if !w.waits() || !believes(ledger, client, lock) {
			continue
		}
		if planned := w.plannedLock(client, lock); planned != "" {
			_ = w.takeOne(planned) // where it cannot be, it stays planned
			continue
		}
		line := client + ": lock " + lock + " within 10s"
		if lock == w.variant.Clients[client].Lock {
			line = client + ": lock within 10s"
		}
		w.takeApart(line)
	}
}

func believes(ledger *history.Ledger, client, lock string) bool {
	return slices.ContainsFunc(ledger.Holdings, func(h *history.Holding) bool {
		return h.Client == client && h.Scope == lock && h.Began.Came() && !h.Ended.Came()
	})
}

// plannedLock is the next step of the plan, if by that the client waits for the lock; else "".
func (w *world) plannedLock(client, lock string) string {
	if len(w.plan) == 0 {
		return ""
	}
	step, err := w.telling.Parse(w.plan[0])
	if err != nil || step.Verb != scenario.Lock || step.Client != client || w.variant.LockOf(step) != lock {
		return ""
	}
	return w.plan[0]
}

// takeApart takes a step that is what happens by itself, and so no other way than the planned one. It is none of the
// story where it cannot be.
func (w *world) takeApart(line string) {
	plan, back := w.plan, w.back
	if err := w.takeOne(line); err == nil && w.plan == nil {
		w.plan, w.back = plan, back
	}
}

// awaitExpired makes a step of each lease that has run out for no step to wait for, so that the story can be told
// again. It ran out during the step last; nil: while the story waited for one.
func (w *world) awaitExpired(ledger *history.Ledger, last *scenario.Step) {
	for _, e := range w.events {
		if e.Kind != history.KindEnded || w.seen[e.Tenure] {
			continue
		}
		w.seen[e.Tenure] = true
		line := fmt.Sprintf("%s: await expiry of %s", w.variant.World.Service, e.Client)
		waited := last != nil && (last.String() == line || slices.Contains(asks, last.Verb))
		if e.Cause == history.CauseExpired && ledger.Actor(e.Client).Latest == ledger.Tenure(e.Tenure) && !waited && w.waits() {
			w.takeApart(line)
		}
	}
}

// asks are the steps that wait themselves for what is in their way.
var asks = []scenario.Verb{scenario.Lock, scenario.TryLock, scenario.Queue}

// waits reports whether the run waits for a step. The caller has the lock, here and below.
func (w *world) waits() bool { return w.asked > 0 && w.overSteps() == len(w.telling.Told()) }

func (w *world) overSteps() int { return max(0, w.asked-1) }

func (w *world) change() {
	w.version++
	close(w.changed)
	w.changed = make(chan struct{})
}

// take has steps be done, in order, until one of them cannot be.
func (w *world) take(lines ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.change()
	for _, line := range lines {
		if err := w.takeOne(line); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) takeOne(line string) error {
	switch {
	case w.ended:
		return problem{http.StatusConflict, "this story is over: go back to one of its steps, or begin another"}
	case len(w.telling.Told()) == mostSteps:
		return problem{http.StatusConflict, fmt.Sprintf("a story has %d steps at most", mostSteps)}
	}
	told := w.telling.Told()
	step, err := w.telling.Take(line)
	if err != nil {
		return problem{http.StatusConflict, err.Error()}
	}
	switch {
	case len(w.plan) == 0:
	case w.plan[0] == step.String():
		w.plan = w.plan[1:]
	case step.Verb == scenario.Queue && w.plannedLock(step.Client, w.variant.LockOf(step)) != "": // which follows the grant
	default: // the story goes another way
		w.back = &wish{Story: w.story(told), Variant: w.variant.Name, Play: len(told)}
		if w.challenge != nil {
			w.back.Challenge = w.challenge.ID
		}
		w.plan = nil
	}
	w.steps <- step // it has room for all of them
	return nil
}

func (w *world) rest() error {
	w.mu.Lock()
	plan := w.plan
	w.mu.Unlock()
	return w.take(plan...)
}

// end ends the story: what the storage holds is read, and the run is judged.
func (w *world) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil
	}
	if err := w.telling.CanEnd(); err != nil {
		return problem{http.StatusConflict, err.Error()}
	}
	w.ended = true
	close(w.steps)
	w.change()
	return nil
}

// enter and leave count the pages that show the world. It ends when the last has been gone for a while.
func (w *world) enter() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readers++
	w.alone.Stop()
}

func (w *world) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers--; w.readers == 0 {
		w.alone.Reset(w.server.Alone)
	}
}

func (w *world) leaveAlone() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.readers == 0 {
		w.forget(errAlone)
	}
}

// forget ends the world, and then nobody finds it any more.
func (w *world) forget(why error) {
	if w.cancel(why); !w.gone {
		w.gone = true
		close(w.left)
	}
}

type problem struct {
	status int
	text   string
}

func (p problem) Error() string { return p.text }

func statusOf(err error) int {
	if p, ok := errors.AsType[problem](err); ok {
		return p.status
	}
	return http.StatusInternalServerError
}
