package serve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// choice is a step that can happen now.
type choice struct {
	Step   string `json:"step"`
	Text   string `json:"text"`
	Words  string `json:"words"`            // the step in plain words
	Client string `json:"client,omitempty"` // whom it is about; "": none
	Fault  bool   `json:"fault"`            // something is done to it
	Main   bool   `json:"main"`             // what a client is likely to do next
	Why    string `json:"why"`              // what happens, in plain words
	About  string `json:"about"`            // the same for who knows the steps
}

// guide leads to the next step of a plan.
type guide struct {
	choice
	Waits bool `json:"waits"` // it comes by itself
}

// offer says what can be done next: the planned step first, then what clients are likely to do.
func (s *state) offer(w *world) {
	ledger := history.Fold(w.events)
	s.Guide = w.guide(ledger)
	mains := make(map[string][]string)
	for _, name := range w.scenario.Clients {
		mains[name] = w.mains(ledger, name)
	}
	rank := func(c choice) int {
		i := slices.IndexFunc(mains[c.Client], func(act string) bool { return strings.HasPrefix(c.Text, act) })
		if c.Fault || i < 0 {
			return len(plain)
		}
		return i
	}
	for _, can := range w.telling.Choices() {
		c := w.choice(can.Step, can.About)
		c.Main = rank(c) < len(plain)
		s.Choices = append(s.Choices, c)
	}
	slices.SortStableFunc(s.Choices, func(a, b choice) int { return cmp.Compare(rank(a), rank(b)) })
	if s.Guide == nil || s.Guide.Waits || s.Guide.Fault || s.Guide.Client == "" {
		return
	}
	same := func(c choice) bool { return c.Client == s.Guide.Client && c.Words == s.Guide.Words }
	s.Choices = slices.Insert(slices.DeleteFunc(s.Choices, same), 0, s.Guide.choice)
}

func (w *world) choice(step scenario.Step, about string) choice {
	c := choice{Step: step.String(), Text: step.Text, Fault: step.Actor != step.Client, About: about}
	c.Words, c.Why = w.words(step)
	if slices.Contains(w.scenario.Clients, step.Client) {
		c.Client = step.Client
	}
	return c
}

// mains begin the acts that a client is likely to do next, in their order.
func (w *world) mains(ledger *history.Ledger, client string) []string {
	c := w.telling.Client(client)
	lock := w.variant.Clients[client].Lock
	switch {
	case c.Begun:
		return []string{"finish"}
	case len(c.Queued) > 0:
		return []string{"leave"}
	case ledger.Actor(client).Believes > 0:
		return []string{"begin write", "write"}
	case w.taken(ledger, client, lock):
		return []string{"queue"}
	}
	return []string{"lock within"}
}

// taken reports whether somebody else has the lock, so that a client has to wait for it.
func (w *world) taken(ledger *history.Ledger, client, lock string) bool {
	holder := ledger.Holder(lock)
	return holder != "" && holder != client
}

// guide leads to the first step of the plan; nil: there is no plan. A client that would have to wait for its lock
// stands in the queue first, so that nobody has to wait with it.
func (w *world) guide(ledger *history.Ledger) *guide {
	if len(w.plan) == 0 {
		return nil
	}
	step, err := w.telling.Parse(w.plan[0])
	if err != nil {
		return nil
	}
	g := guide{choice: w.choice(step, step.Form.About), Waits: step.Verb == scenario.Await && step.Actor == w.variant.World.Service}
	if step.Verb != scenario.Lock || step.Actor != step.Client {
		g.Main = true
		return &g
	}
	lock := w.variant.LockOf(step)
	queued := slices.Contains(w.telling.Client(step.Client).Queued, lock)
	if g.Main = true; queued || !w.taken(ledger, step.Client, lock) {
		g.Waits = queued
		return &g
	}
	queue, err := w.telling.Parse(strings.TrimSpace(step.Client + ": queue " + step.Lock))
	if err == nil {
		g.choice = w.choice(queue, queue.Form.About)
		g.Main = true
	}
	return &g
}

// plain are acts in words for who does not know the steps' own, by their beginnings; and what happens, where a guide
// says it.
var plain = []struct{ act, words, why string }{
	{"lock", "take the lock", "It asks the lock service, and gets a lease."},
	{"trylock", "take the lock if it is free", ""},
	{"queue", "take the lock", "Somebody has it, so it has to wait."},
	{"leave", "stop waiting", ""},
	{"unlock", "let go of the lock", "The next one can have it."},
	{"begin write", "get ready to write", "It looks whether the lock is still its own, and stands right before the write."},
	{"begin read", "get ready to read", "It looks whether the lock is still its own, and stands right before the read."},
	{"begin delete", "get ready to delete", "It looks whether the lock is still its own, and stands right before the delete."},
	{"finish", "go on with it", "It does not look again: to its own mind no time has passed."},
	{"write", "write", "It shows the token of its lock with the write."},
	{"read", "read", "It asks the storage."},
	{"delete", "delete", "It shows the token of its lock with the delete."},
	{"pause", "STOP", "It stands still, as in a long garbage collection, and cannot renew its lease."},
	{"resume", "GO ON", "It goes on where it stood, and does not know for how long that was."},
	{"await expiry", "wait until the lease is over", ""},
}

// words are those of a step, and why; of what was begun they say what that was.
func (w *world) words(step scenario.Step) (words, why string) {
	words, why = step.Text, step.Form.About
	for _, p := range plain {
		if step.Text == p.act || strings.HasPrefix(step.Text, p.act+" ") {
			words, why = p.words, cmp.Or(p.why, why)
			break
		}
	}
	if step.Verb != scenario.Finish || step.Send {
		return words, why
	}
	for _, told := range slices.Backward(w.telling.Told()) {
		if act, begun := strings.CutPrefix(told.Text, "begin "); begun && told.Client == step.Client {
			verb, _, _ := strings.Cut(act, " ")
			return verb + " now", why
		}
	}
	return words, why
}
