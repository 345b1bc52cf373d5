package serve

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// wish is a world to be: of a challenge, of a scenario by name, of a scenario's text, or of settings.
type wish struct {
	Challenge string `json:"challenge"`
	Solution  bool   `json:"solution"` // the challenge's is the plan
	Scenario  string `json:"scenario"`
	Story     string `json:"story"`
	Variant   string `json:"variant"`
	Setup     *setup `json:"setup"`
	Fenced    bool   `json:"fenced"` // the storage checks tokens, whatever the story says
	Play      int    `json:"play"`   // so many steps are done at once
}

type setup struct {
	Service  string            `json:"service"`
	Clients  int               `json:"clients"`
	Locks    int               `json:"locks"`
	Storage  map[string]string `json:"storage"`
	Settings map[string]string `json:"settings"` // of all clients
	Servers  map[string]string `json:"servers"`
}

const (
	mostClients = 6
	byHand      = "by-hand"
)

func (s *Server) begin(w wish) (b beginning, err error) {
	defer func() {
		if err != nil {
			err = problem{http.StatusBadRequest, err.Error()}
		}
	}()
	switch {
	case w.Challenge != "":
		return s.beginChallenge(w)
	case w.Setup != nil:
		if w.Story, err = s.text(*w.Setup); err != nil {
			return b, err
		}
		if b.scenario, err = s.Language.Parse("the settings", byHand, []byte(w.Story)); err != nil {
			return b, unplaced(err)
		}
		b.variant = &b.scenario.Variants[0]
	case w.Story != "":
		if b.scenario, err = s.Language.Parse("the scenario", byHand, []byte(w.Story)); err != nil {
			return b, err
		}
		if b.variant, err = variantOf(b.scenario, w.Variant); err != nil {
			return b, err
		}
	case w.Scenario != "":
		if b.scenario, b.variant, err = s.builtin(w.Scenario, w.Variant); err != nil {
			return b, err
		}
	default:
		return b, fmt.Errorf("want a challenge, a scenario, a story or a setup")
	}
	// A link has a story in it, and must not start what it names.
	if command := b.variant.World.Storage.Command; command != "" {
		return b, fmt.Errorf("the storage is a program of its own, %q, which a page does not start: use \"gcsim run\"", command)
	}
	for name, c := range b.variant.Clients {
		if len(c.Command.Words) > 0 {
			return b, fmt.Errorf("%s is a program of its own, %q, which a page does not start: use \"gcsim run\"", name, c.Command.Words)
		}
	}
	if w.Fenced {
		fenced := *b.variant
		fenced.World.Storage.Fencing = scenario.FencingOn
		b.variant = &fenced
	}
	b.plan = lines(b.variant.Steps)
	return b, b.play(w.Play)
}

// unplaced is an error of a scenario that nobody has written, without its place in the text.
func unplaced(err error) error {
	if at, ok := errors.AsType[*strictyaml.Error](err); ok {
		return at
	}
	return err
}

// beginChallenge begins a challenge, whose settings are its own; of a story only the steps count.
func (s *Server) beginChallenge(w wish) (b beginning, err error) {
	if b.challenge, err = challenge(w.Challenge); err != nil {
		return b, err
	}
	if b.scenario, b.variant, err = s.builtin(b.challenge.Scenario, b.challenge.variant); err != nil {
		return b, err
	}
	if b.challenge.slow != "" {
		patient := *b.variant
		patient.Clients = maps.Clone(patient.Clients)
		holder := patient.Clients["client1"]
		holder.Values = maps.Clone(holder.Values)
		holder.Values[setting.TTL] = b.challenge.slow
		patient.Clients["client1"] = holder
		b.variant = &patient
	}
	switch {
	case w.Solution:
		b.plan = lines(b.variant.Steps)
	case w.Story != "":
		told, err := s.Language.Parse("the scenario", byHand, []byte(w.Story))
		if err != nil {
			return b, err
		}
		b.plan = lines(told.Variants[0].Steps)
	}
	return b, b.play(w.Play)
}

func (b *beginning) play(first int) error {
	if first < 0 || first > len(b.plan) {
		return fmt.Errorf("%d steps cannot be done: the story has %d", first, len(b.plan))
	}
	b.first = first
	return nil
}

var digits = regexp.MustCompile(`^[0-9]+$`)

//go:embed by-hand.yaml.tmpl
var byHandStory string

// text is the scenario of a setup. Its plan is the main story. What the settings are the parser looks at.
func (s *Server) text(u setup) (string, error) {
	if u.Clients < 2 || u.Clients > mostClients {
		return "", fmt.Errorf("want 2 to %d clients, got %d", mostClients, u.Clients)
	}
	if u.Locks < 1 || u.Locks > u.Clients {
		return "", fmt.Errorf("want 1 to %d locks, got %d", u.Clients, u.Locks)
	}
	i := slices.IndexFunc(s.Language.Services, func(of scenario.Service) bool { return of.Name == u.Service })
	if i < 0 {
		return "", fmt.Errorf("there is no lock service %q", u.Service)
	}
	of := s.Language.Services[i]
	clients := make([]string, u.Clients)
	for i := range clients {
		lock := "/lock"
		if n := i % u.Locks; n > 0 {
			lock += strconv.Itoa(n + 1)
		}
		clients[i] = fmt.Sprintf("client%d: {lock: %s, %s}", i+1, lock, inline(slices.Concat(of.Client, setting.Client), u.Settings))
	}
	return strings.NewReplacer(
		"SERVICE", of.Name, "SERVERS", inline(of.World, u.Servers), "STORAGE", inline(nil, u.Storage), "CLIENTS", strings.Join(clients, "\n  "),
	).Replace(byHandStory), nil
}

// inline are settings between a mapping's braces: numbers and flags as they are, all else quoted.
func inline(list []setting.Setting, values map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		s, _ := setting.Find(list, name)
		plain := s.Kind == setting.Number && digits.MatchString(value) || s.Kind == setting.Flag && (value == "true" || value == "false")
		if !plain {
			value = strconv.Quote(value)
		}
		parts = append(parts, strconv.Quote(name)+": "+value)
	}
	return strings.Join(parts, ", ")
}

// Challenge is a world in which a person is to corrupt a resource, as a scenario's variant does.
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

func challenge(id string) (*Challenge, error) {
	if i := slices.IndexFunc(Challenges, func(c *Challenge) bool { return c.ID == id }); i >= 0 {
		return Challenges[i], nil
	}
	return nil, fmt.Errorf("there is no challenge %q", id)
}

// builtin is a variant of a scenario that can be loaded by name; of "" the control, or the first.
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
