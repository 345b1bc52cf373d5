// Package scenario reads scenarios: one YAML file each, one lesson each. It is
// strict: what it does not understand it refuses, with file, line and column.
package scenario

import (
	"maps"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
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

// Variant is one way to run a scenario, and what must come of it. Exactly one
// variant of a scenario is its control: the same story without the protection.
type Variant struct {
	Name    string
	About   string // what sets it apart, in words; "" where the storage's fencing says it
	Control bool
	World   World
	Clients map[string]Client
	Steps   []Step // the scenario's, or its own
	Expect  history.Expect
}

// World is what the clients meet.
type World struct {
	Etcd    Etcd
	Storage Storage
	// Pauses is how often a count is disturbed: a holder, chosen at random, is
	// stopped between its look and its write until a successor has written.
	Pauses int
}

// Etcd is the lock service.
type Etcd struct {
	Members int // 1, 3 or 5
	Restore string
}

// How etcd is restored from a snapshot.
const (
	RestorePlain  = "plain"  // revisions go back to the snapshot's
	RestoreBumped = "bumped" // by etcdutl's --bump-revision and --mark-compacted
)

// Storage is what the lock is to protect.
type Storage struct {
	Engine  string // EngineMemory or EngineBolt
	Fencing string
	Bound   string
}

// The storage's engines.
const (
	EngineMemory = "memory"
	EngineBolt   = "bolt"
)

// How the storage checks tokens.
const (
	FencingOn        = "on"
	FencingOff       = "off"
	FencingDiffers   = "differs"   // wrong: refuses every token that differs from the last, newer ones too
	FencingForgetful = "forgetful" // wrong: a delete of a key drops the mark of its scope
)

// Whether the storage knows which tokens cannot have been given out yet.
const (
	BoundNone   = "none"
	BoundIssuer = "issuer" // it asks etcd for its current revision
)

// Client is a lock client.
type Client struct {
	Lock     string        // the lock's name
	TTL      time.Duration // of the lease, in whole seconds
	Timeout  time.Duration // of a request
	Token    string
	Scope    string
	Member   string
	Session  string // SessionOwn, SessionKept, or the name of the client whose session it shares
	Look     string
	Reads    string
	Numbered bool          // its writes carry sequence numbers
	Change   string        // ChangeBatch or ChangeSingly
	Delay    time.Duration // for how long it waits after each grant before it goes on
}

// What a client shows to the storage as its token.
const (
	TokenRevision = "revision" // the create revision of its lock key
	TokenHeader   = "header"   // the revision at which etcd answered that the lock is its
	TokenLease    = "lease"    // its lease ID, which is not ordered
	TokenMax      = "max"      // 2^63-1, with or without a lock
)

// What a client's token is compared in.
const (
	ScopeLock = "lock"
	ScopeKey  = "key" // each key has a mark of its own
)

// Which of etcd's members a client talks to.
const (
	MemberAny      = "any"     // it knows them all
	MemberHighest  = "highest" // the one whose leases have the highest IDs
	MemberLowest   = "lowest"
	MemberLeader   = "leader"   // the one that leads when the story begins
	MemberFollower = "follower" // one that does not
)

// Sessions: the lease that a client's locks stand on.
const (
	SessionOwn  = "own"  // each tenure has one of its own
	SessionKept = "kept" // the client keeps one for all its tenures
)

// How a client looks whether it holds the lock before it writes.
const (
	LookBegin   = "begin"    // at its session where it begins a write, else not at all
	LookNothing = "nothing"  // it does not
	LookSession = "session"  // it asks its session, which may not know yet
	LookIsOwner = "is-owner" // it asks etcd by Mutex.IsOwner: is my key there?
	LookFirst   = "first"    // it asks etcd: is my key the first in the queue?
)

// Whether a client's reads show its token.
const (
	ReadsFenced = "fenced"
	ReadsPlain  = "plain"
)

// How a client changes several keys.
const (
	ChangeBatch  = "batch"  // in one request, all or nothing
	ChangeSingly = "singly" // one after the other
)

// Actors of steps that are no clients.
const (
	ActorLab     = history.LaneLab
	ActorEtcd    = history.LaneEtcd
	ActorClients = "clients" // all of them, side by side
)

// What a fault can be about that is no client.
const (
	TargetStorage = history.LaneStorage
	TargetEtcd    = history.LaneEtcd
	TargetLeader  = "leader" // etcd's, at the time
)

// Verb is what a step does.
type Verb string

// The verbs. A step returns when what it names has happened.
const (
	// Of a client.
	Lock      Verb = "lock"    // waits for the lock, also one that it queued for
	TryLock   Verb = "trylock" // takes it if it is free
	Queue     Verb = "queue"   // asks for the lock; over when it stands in the queue
	Unlock    Verb = "unlock"
	Read      Verb = "read"
	Write     Verb = "write"
	Delete    Verb = "delete"
	Change    Verb = "change" // of several keys
	Begin     Verb = "begin"  // a write or a change: looks whether it holds the lock, and stands before the write, or in the middle of the change
	Finish    Verb = "finish" // does the rest
	Retry     Verb = "retry"  // the last write or unlock of unknown outcome once more
	AwaitLoss Verb = "await loss"
	Count     Verb = "count" // of ActorClients: each increments Key so many Times
	// Of the lab, which is where faults come from.
	Pause     Verb = "pause"  // stops the client, or etcd's leader, by SIGSTOP
	Resume    Verb = "resume" // lets it go on
	Kill      Verb = "kill"   // kills it, or the storage, by SIGKILL
	Restart   Verb = "restart"
	Load      Verb = "load"  // fills its heap until a collection outlasts its lease
	GC        Verb = "gc"    // starts a stop-the-world collection in it
	Await     Verb = "await" // awaits the end of a collection, or of a pause for a time, and of what the client was told to do meanwhile
	Partition Verb = "partition"
	Deafen    Verb = "deafen"
	Delay     Verb = "delay"
	Deliver   Verb = "deliver"
	Reset     Verb = "reset"
	Heal      Verb = "heal"
	Revoke    Verb = "revoke"  // ends the client's lease, as an operator could
	Save      Verb = "save"    // takes a snapshot of etcd
	Restore   Verb = "restore" // starts etcd again from that snapshot
	// Of the lock service.
	AwaitExpiry Verb = "await expiry of" // the client's lease has run out
)

// Step is one step of the story.
type Step struct {
	Actor   string
	Verb    Verb
	Send    bool   // the step is over when the client was told; what it writes goes by the network that Delay, Deafen and Reset meddle with
	Client  string // whom the step is about; for a client's own step the actor; or one of the Targets
	Service string // of Partition, Deafen, Delay: the other end
	Key     string
	Value   string
	Changes []history.Change // of Change, and of the Begin of one
	Times   int              // of Count
	For     time.Duration    // of Pause: for so long; 0: until Resume
	Line    int              // in the file
	Column  int
}

// Keys are the storage's keys that the story or the expectations of a variant
// speak of, in order.
func (s *Scenario) Keys(v *Variant) []string {
	keys := make(map[string]bool)
	for _, step := range v.Steps {
		if step.Key != "" {
			keys[step.Key] = true
		}
		for _, c := range step.Changes {
			keys[c.Key] = true
		}
	}
	for key := range v.Expect.Final {
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
