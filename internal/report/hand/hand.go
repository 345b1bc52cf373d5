// Package hand says what a person at a stage can do next: the buttons on the actors, in plain words, and what a plan
// proposes. It is pure, and knows steps as texts alone, so that a page without a parser has it, too.
package hand

import (
	"cmp"
	"slices"
	"strings"
)

// Choice is a step that can happen now.
type Choice struct {
	Step   string `json:"step"`
	Text   string `json:"text"`
	Words  string `json:"words"`            // the step in plain words
	Client string `json:"client,omitempty"` // whom it is about; "": none
	Fault  bool   `json:"fault"`            // something is done to it
	Main   bool   `json:"main"`             // what a client is likely to do next
	Why    string `json:"why"`              // what happens, in plain words
	About  string `json:"about"`            // the same for who knows the steps
}

// Guide leads to the next step of a plan.
type Guide struct {
	Choice
	Waits bool `json:"waits"` // it comes by itself
}

// Stand is how a client stands to its lock.
type Stand struct {
	Begun    bool // it stands right before what it does next
	Queued   bool
	Believes bool // that it holds the lock
	Taken    bool // somebody else has the lock
}

// New is the choice of a step, "actor: text", about a client ("": none). begun is what that client has begun, "": nothing.
func New(step, client, about, begun string) Choice {
	actor, text, _ := strings.Cut(step, ": ")
	c := Choice{Step: step, Text: text, Client: client, Fault: actor != client, About: about}
	c.Words, c.Why = words(text, about, begun)
	return c
}

// Order has the guide's step first, and then what the clients are likely to do. Of the choices of a client that have
// the same words, one is Main.
func Order(choices []Choice, stands map[string]Stand, guide *Guide) []Choice {
	mains := make(map[string][]string)
	for client, stand := range stands {
		queues := slices.ContainsFunc(choices, func(c Choice) bool { return c.Client == client && is(c.Text, "queue") })
		mains[client] = stand.mains(queues)
	}
	rank := func(c Choice) int {
		i := slices.IndexFunc(mains[c.Client], func(act string) bool { return is(c.Text, act) })
		if c.Fault || i < 0 {
			return len(plain)
		}
		return i
	}
	slices.SortStableFunc(choices, func(a, b Choice) int { return cmp.Compare(rank(a), rank(b)) })
	if guide != nil && !guide.Waits && !guide.Fault && guide.Client != "" {
		same := func(c Choice) bool {
			return c.Step == guide.Step || c.Client == guide.Client && c.Words == guide.Words && rank(c) < len(plain)
		}
		first := guide.Choice
		first.Main = true
		choices = slices.Insert(slices.DeleteFunc(choices, same), 0, first)
	}
	said := make(map[[2]string]bool)
	for i := range choices {
		c := &choices[i]
		words := [2]string{c.Client, c.Words}
		c.Main = (c.Main || rank(*c) < len(plain)) && !said[words]
		said[words] = said[words] || c.Main
	}
	return choices
}

// mains begin the acts that a client is likely to do next, in their order. queues: it can stand in the queue.
func (s Stand) mains(queues bool) []string {
	switch {
	case s.Begun:
		return []string{"finish"}
	case s.Queued:
		return []string{"leave"}
	case s.Believes:
		return []string{"begin write", "write"}
	case s.Taken && queues:
		return []string{"queue"}
	}
	return []string{"lock"}
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
	{"await loss", "wait until it is told of its loss", ""},
	{"await expiry", "wait until its lease is over", "Nobody renews it, so it runs out."},
}

// is reports whether a text is an act, whatever follows.
func is(text, act string) bool { return text == act || strings.HasPrefix(text, act+" ") }

// words are those of a step, and why; of what was begun they say what that was.
func words(text, about, begun string) (words, why string) {
	words, why = text, about
	for _, p := range plain {
		if is(text, p.act) {
			words, why = p.words, cmp.Or(p.why, why)
			break
		}
	}
	if text == "finish" && begun != "" {
		verb, _, _ := strings.Cut(begun, " ")
		return verb + " now", why
	}
	return words, why
}
