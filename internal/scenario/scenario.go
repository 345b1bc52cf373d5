// Package scenario reads scenarios: one YAML file each, one lesson each. It refuses what it does not understand.
package scenario

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Scenario is a story to run, in variants.
type Scenario struct {
	Name     string // the file's name without .yaml
	Title    string
	Lesson   string // what happens, and why
	Helps    string // what helps against it
	Source   string // where the pitfall is documented
	Clients  []string
	Together [][]string // sets of keys that make sense only if one tenure wrote them all
	Variants []Variant
}

// Variant is one way to run a scenario, and what must come of it. The control is without the protection.
type Variant struct {
	Name    string
	About   string // what sets it apart, in words; "" where the storage's fencing says it
	Control bool
	World   World
	Clients map[string]Client
	Steps   []Step // the scenario's, or its own
	Expect  history.Expect
	Own     string // why it needs servers of its own, as in "it wants 3 members"; "": any will do
}

// Says is what sets the variant apart, in words.
func (v *Variant) Says() string { return cmp.Or(v.About, checks[v.World.Storage.Fencing]) }

var checks = map[string]string{
	FencingOn:        "the storage checks tokens",
	FencingOff:       "the storage checks no tokens",
	FencingObserve:   "the storage tells what it would refuse, and refuses nothing",
	FencingDiffers:   "the storage refuses each token that differs from the last, a wrong check",
	FencingForgetful: "the storage forgets its mark by a delete, a wrong check",
}

// LockOf is the lock that a step takes: the one that it names, else the client's.
func (v *Variant) LockOf(step Step) string {
	return cmp.Or(step.Lock, v.Clients[step.Client].Lock)
}

// SessionOf is the other client whose session a client uses; "" where there is none.
func (v *Variant) SessionOf(client string) string {
	owner := v.Clients[client].Values[setting.Session]
	if _, is := v.Clients[owner]; !is {
		return ""
	}
	return owner
}

// World is what the clients meet.
type World struct {
	Service  string         // the lock service's name
	Settings setting.Values // of its servers
	Storage  Storage
	Pauses   int // how often a count is disturbed: a holder is stopped before its write
}

// Storage is what the lock is to protect.
type Storage struct {
	In      string // InProcess or InService
	Engine  string // EngineMemory or EngineBolt
	Fencing string
	Bound   string
	Command string // that runs it, as package program has it; "": it is gcsim's own
}

// Where the data lies.
const (
	InProcess = "process" // of the storage
	InService = "service" // the lock service is the storage, too
)

// The storage's engines.
const (
	EngineMemory = "memory"
	EngineBolt   = "bolt"
)

// How the storage checks tokens.
const (
	FencingOn        = "on"
	FencingOff       = "off"
	FencingObserve   = "observe"   // what would be refused is done all the same, and told
	FencingDiffers   = "differs"   // wrong: refuses every token that differs from the last, newer ones too
	FencingForgetful = "forgetful" // wrong: a delete of a key drops the mark of its scope
)

// Whether the storage knows which tokens cannot have been given out yet.
const (
	BoundNone   = "none"
	BoundIssuer = "issuer" // it asks the lock service for the last that was
)

// Client is a lock client: its own lock, and what it chose of setting.Client and its service's.
type Client struct {
	Lock    string
	Command Command
	setting.Values
}

// Command is a program of the user's that is a client, and its first arguments.
type Command struct {
	Words        []string // none: the client is the lab's own
	Line, Column int      // in the file
}

// Actors of steps that are no clients.
const (
	ActorLab     = history.LaneLab
	ActorClients = "clients" // all of them, side by side
	// TheService stands in a Form for the name of the lock service.
	TheService = "SERVICE"
)

// TargetStorage is what a fault can be about that is no client.
const TargetStorage = history.LaneStorage

// Verb is what a step does.
type Verb string

// The verbs of clients, and others that several places know. A step returns when that has happened.
const (
	Lock    Verb = "lock"    // waits for the lock, also one that it queued for
	TryLock Verb = "trylock" // takes it if it is free
	Queue   Verb = "queue"   // asks for the lock; over when it stands in the queue
	Unlock  Verb = "unlock"
	Read    Verb = "read"
	Write   Verb = "write"
	Delete  Verb = "delete"
	Change  Verb = "change" // of several keys
	Begin   Verb = "begin"  // stands right before something else; in the middle of a change, if that is of several requests
	Finish  Verb = "finish" // does the rest
	Retry   Verb = "retry"  // the last write or unlock of unknown outcome once more
	Await   Verb = "await"  // what comes by itself
	Count   Verb = "count"  // of ActorClients: each increments Key so many Times
	Load    Verb = "load"   // of the lab: fills a client's heap, which takes long
)

// Step is one step of the story.
type Step struct {
	ID      string // of the form that it is written in
	Form    *Form
	Text    string
	Name    string // "" where it has none
	Actor   string
	Verb    Verb
	Send    bool   // the step is over when the client was told; what it writes goes by the network that faults are about
	Client  string // whom the step is about; for a client's own step the actor; or the form's Target
	Other   string // the other end of a network: TargetStorage or the lock service
	Node    string // of the lock service
	Lock    string // that it names; "" where it names none
	Key     string
	Value   string
	Changes []history.Change // of Change, and of the Begin of one
	Times   int              // of Count
	For     time.Duration    // for so long; 0: until another step
	Line    int              // in the file
	Column  int
}

func (v *Variant) Has(f *Form) bool {
	return slices.ContainsFunc(v.Steps, func(s Step) bool { return s.ID == f.ID() })
}

// HarmFirst are the variants in the order in which to tell them: the control before what helps.
func (s *Scenario) HarmFirst() []*Variant {
	var controls, others []*Variant
	for i := range s.Variants {
		if v := &s.Variants[i]; v.Control {
			controls = append(controls, v)
		} else {
			others = append(others, v)
		}
	}
	return append(controls, others...)
}

// Keys are the storage's keys that the story or the expectations of a variant speak of, in order.
func (v *Variant) Keys() []string {
	keys := slices.AppendSeq(slices.Clone(v.Expect.Missing), maps.Keys(v.Expect.Final))
	for _, step := range v.Steps {
		keys = append(keys, step.Keys()...)
	}
	return inOrder(keys)
}

func (s Step) Keys() (keys []string) {
	if s.Key != "" {
		keys = append(keys, s.Key)
	}
	for _, c := range s.Changes {
		keys = append(keys, c.Key)
	}
	return keys
}

// Locks are those of the clients, and those that the steps name, in order.
func (v *Variant) Locks() (locks []string) {
	for _, c := range v.Clients {
		locks = append(locks, c.Lock)
	}
	for _, step := range v.Steps {
		if step.Lock != "" {
			locks = append(locks, step.Lock)
		}
	}
	return inOrder(locks)
}

func inOrder(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
