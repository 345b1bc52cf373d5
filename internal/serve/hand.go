package serve

import (
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/hand"
	"github.com/fencelab/fencelab/internal/scenario"
)

// offer says what can be done next: the planned step first, then what clients are likely to do.
func (s *state) offer(w *world) {
	ledger := history.Fold(w.events)
	s.Guide = w.guide(ledger)
	stands := make(map[string]hand.Stand)
	for _, name := range w.scenario.Clients {
		c := w.telling.Client(name)
		stands[name] = hand.Stand{
			Begun: c.Begun, Queued: len(c.Queued) > 0, Believes: ledger.Actor(name).Believes > 0,
			Taken: w.taken(ledger, name, w.variant.Clients[name].Lock),
		}
	}
	for _, can := range w.telling.Choices() {
		s.Choices = append(s.Choices, w.choice(can.Step, can.About))
	}
	s.Choices = hand.Order(s.Choices, stands, s.Guide)
}

func (w *world) choice(step scenario.Step, about string) hand.Choice {
	client := step.Client
	if !slices.Contains(w.scenario.Clients, client) {
		client = ""
	}
	return hand.New(step.String(), client, about, w.begun(client))
}

// begun is what a client has begun last; "": nothing.
func (w *world) begun(client string) string {
	for _, told := range slices.Backward(w.telling.Told()) {
		if act, begun := strings.CutPrefix(told.Text, "begin "); begun && told.Client == client {
			return act
		}
	}
	return ""
}

// taken reports whether somebody else has the lock, so that a client has to wait for it.
func (w *world) taken(ledger *history.Ledger, client, lock string) bool {
	holder := ledger.Holder(lock)
	return holder != "" && holder != client
}

// guide leads to the first step of the plan; nil: there is no plan. A client that would have to wait for its lock
// stands in the queue first, so that nobody has to wait with it.
func (w *world) guide(ledger *history.Ledger) *hand.Guide {
	if len(w.plan) == 0 {
		return nil
	}
	step, err := w.telling.Parse(w.plan[0])
	if err != nil {
		return nil
	}
	g := hand.Guide{Choice: w.choice(step, step.Form.About), Waits: step.Verb == scenario.Await && step.Actor == w.variant.World.Service}
	if step.Verb != scenario.Lock || step.Actor != step.Client {
		return &g
	}
	lock := w.variant.LockOf(step)
	queued := slices.Contains(w.telling.Client(step.Client).Queued, lock)
	if queued || !w.taken(ledger, step.Client, lock) {
		g.Waits = queued
		return &g
	}
	queue, err := w.telling.Parse(strings.TrimSpace(step.Client + ": queue " + step.Lock))
	if err == nil {
		g.Choice = w.choice(queue, queue.Form.About)
	}
	return &g
}
