package serve

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
)

// Challenge is a world in which a person is to bring about a corrupted resource. Its
// solution is the story of a scenario's variant.
type Challenge struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Task     string `json:"task"`
	Hint     string `json:"hint"`
	Scenario string `json:"scenario"`
	variant  string
	slow     string // the TTL of client1's lease, which nobody renews: a person is slower than gcsim; "": the scenario's
}

// Challenges are all of them, the easiest first.
var Challenges = []*Challenge{
	{
		ID: "lost-write", Title: "Lose a write", Scenario: "01-gc-pause", variant: "unfenced",
		Task: "Make the storage lose client2's write. The storage checks no tokens.",
		Hint: "client1 must be right before a write when you stop it: \"begin write\". Nothing wakes client1 up but you.",
	},
	{
		ID: "check-first", Title: "… though client1 checks the lock right before", Scenario: "03-check-then-write", variant: "check-only",
		Task: "Make the storage lose client2's write, though client1 asks the lock service right before each write whether the lock is still its own.",
		Hint: "Between the check and the write there is time. \"begin write\" checks, and stands in it.",
	},
	{
		ID: "fenced-writes", Title: "… though all writes are fenced", Scenario: "07-read-before-fence", variant: "plain-reads",
		Task: "Make the storage lose an update, though it checks the token of each write. Reads show no token.",
		Hint: "The storage knows of a new holder by the first token that it is shown. What does a new holder do before it writes?",
	},
	{
		ID: "redlock", Title: "… with RedLock", Scenario: "19-redlock-paused", variant: "redlock", slow: "10s",
		Task: "Make the storage lose client2's write, though client1 has the lock on three nodes.",
		Hint: "Three nodes do what one does: they end a lease. It is the client that stands still.",
	},
	{
		ID: "lease-ids", Title: "… with lease IDs", Scenario: "05-lease-id-token", variant: "lease-id",
		Task: "Make the storage lose client2's write, though it checks the token of each write. The tokens are lease IDs.",
		Hint: "A lease ID begins with the ID of the member that gave it. client1 talks to the member with the highest one.",
	},
}

// challenge is the one of that ID.
func challenge(id string) (*Challenge, error) {
	if i := slices.IndexFunc(Challenges, func(c *Challenge) bool { return c.ID == id }); i >= 0 {
		return Challenges[i], nil
	}
	return nil, fmt.Errorf("there is no challenge %q", id)
}

// builtin is a variant of a scenario that can be loaded by name; of "" the control, or
// the first.
func (s *Server) builtin(name, variant string) (*scenario.Scenario, *scenario.Variant, error) {
	for _, known := range s.Scenarios {
		if known.Name == name {
			v, err := variantOf(known, variant)
			return known, v, err
		}
	}
	return nil, nil, fmt.Errorf("there is no scenario %q", name)
}

func variantOf(s *scenario.Scenario, name string) (*scenario.Variant, error) {
	chosen := &s.Variants[0]
	for i := range s.Variants {
		v := &s.Variants[i]
		if v.Name == name {
			return v, nil
		}
		if v.Control {
			chosen = v
		}
	}
	if name != "" {
		return nil, fmt.Errorf("the scenario %s has no variant %q", s.Name, name)
	}
	return chosen, nil
}
