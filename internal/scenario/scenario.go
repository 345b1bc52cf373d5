// Package scenario reads scenarios: one YAML file each, one lesson each. It is
// strict: what it does not understand it refuses, with file, line and column.
package scenario

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// Scenario is a story to run, in variants.
type Scenario struct {
	Name     string // the file's name without .yaml
	Title    string
	Lesson   string // what happens, why, and what helps
	Source   string // where the pitfall is documented
	Clients  []string
	Steps    []Step
	Variants []Variant
}

// Variant is one way to run a scenario, and what must come of it. Exactly one
// variant of a scenario is its control: the same story without the protection.
type Variant struct {
	Name    string
	Control bool
	World   World
	Clients map[string]Client
	Expect  history.Expect
}

// World is what the clients meet.
type World struct {
	Etcd    Etcd    `yaml:"etcd"`
	Storage Storage `yaml:"storage"`
}

// Etcd is the lock service.
type Etcd struct {
	Members int `yaml:"members"` // 1
}

// Storage is what the lock is to protect.
type Storage struct {
	Engine  string `yaml:"engine"`  // memory or bolt
	Fencing string `yaml:"fencing"` // on or off
}

// Client is a lock client.
type Client struct {
	Lock  string        `yaml:"lock"`
	TTL   time.Duration `yaml:"ttl"`   // of the lease, in whole seconds
	Token string        `yaml:"token"` // TokenRevision or TokenLease
}

// What a client shows to the storage as its token.
const (
	TokenRevision = "revision" // the create revision of its lock key
	TokenLease    = "lease"    // its lease ID, which is not ordered
)

// Actors of steps that are no clients.
const (
	ActorLab  = history.LaneLab
	ActorEtcd = history.LaneEtcd
)

// Verb is what a step does.
type Verb string

// The verbs. A step returns when what it names has happened.
const (
	// Of a client.
	Lock    Verb = "lock"
	TryLock Verb = "trylock"
	Unlock  Verb = "unlock"
	Read    Verb = "read"
	Write   Verb = "write"
	Delete  Verb = "delete"
	Begin   Verb = "begin"  // looks whether it holds the lock, and stands right before a write
	Finish  Verb = "finish" // does that write
	// Of the lab, which is where faults come from.
	Pause  Verb = "pause"  // stops the client by SIGSTOP
	Resume Verb = "resume" // lets it go on
	Kill   Verb = "kill"   // kills it by SIGKILL
	Load   Verb = "load"   // fills its heap until a collection outlasts its lease
	GC     Verb = "gc"     // starts a stop-the-world collection in it
	Await  Verb = "await"  // awaits the collection's end
	// Of the lock service.
	AwaitExpiry Verb = "await expiry of" // the client's lease has run out
)

// Step is one step of the story.
type Step struct {
	Actor  string
	Verb   Verb
	Client string // whom the step is about; for a client's own step the actor
	Key    string
	Value  string
	Line   int // in the file
}

func (s Step) String() string {
	switch {
	case s.Actor != s.Client:
		return fmt.Sprintf("%s: %s %s", s.Actor, s.Verb, s.Client)
	case s.Verb == Begin:
		return fmt.Sprintf("%s: %s write %s=%s", s.Actor, s.Verb, s.Key, s.Value)
	case s.Verb == Write:
		return fmt.Sprintf("%s: %s %s=%s", s.Actor, s.Verb, s.Key, s.Value)
	case s.Key != "":
		return fmt.Sprintf("%s: %s %s", s.Actor, s.Verb, s.Key)
	}
	return fmt.Sprintf("%s: %s", s.Actor, s.Verb)
}

// Keys are the storage's keys that the story or the expectations of a variant
// speak of, in order.
func (s *Scenario) Keys(v *Variant) []string {
	keys := make(map[string]bool)
	for _, step := range s.Steps {
		if step.Key != "" {
			keys[step.Key] = true
		}
	}
	for key := range v.Expect.Final {
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
