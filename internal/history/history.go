// Package history holds the one type that passes between the stages of gcsim: the lab writes events, the verdict
// judges them, the report draws them. A history is a file of JSON lines, so that a run can be judged and drawn
// again without running it again.
package history

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// The lanes beside those of clients, by their names, and of the lock service, by Run.LockService.
const (
	LaneStorage = "storage"
	LaneLab     = "gcsim"
)

// Kind says what an Event tells.
type Kind string

// The kinds, by the account that they belong to.
const (
	// First event of a history: what was run and what is expected of it (Run).
	KindRun Kind = "run"

	// The lock service's own account, by an observer that is no client. Lane: the lock service.
	KindGranted Kind = "granted" // tenure Tenure of Client begins
	KindEnded   Kind = "ended"   // it ends: Cause CauseExpired, CauseReleased or CauseRevoked; Text can say how it expired without a lease, or why it was revoked
	KindQueued  Kind = "queued"  // Client stands in the queue behind a holder; Tenure and Token are those that it will have

	// The storage's own account, in the order in which it did things (Index). Lane storage.
	KindApplied Kind = "applied" // a read, write or delete took place
	KindRefused Kind = "refused" // and will not take place; Reason says why
	// By its sequence number the storage knew a request that it had done, and did not do it again.
	KindDuplicate Kind = "duplicate"
	// A request had no answer: whether it took place, and when, cannot be known.
	KindUnanswered Kind = "unanswered"
	KindFinal      Kind = "final" // at the end: Key holds Value (Missing: no value)

	// What a client says of itself. Lane: the client.
	KindInvoke  Kind = "invoke"  // it sends Op
	KindOK      Kind = "ok"      // Op succeeded
	KindFail    Kind = "fail"    // Op failed, definitely: it has no effect
	KindUnknown Kind = "unknown" // Op may or may not have had its effect (indefinite)
	KindLost    Kind = "lost"    // it was told that its tenure is over

	// Faults. Lane: whom they hit: a client, the lock service or the storage.
	KindPause   Kind = "pause"   // stopped (Cause: how)
	KindResume  Kind = "resume"  // goes on; Took says how long it stood still
	KindKill    Kind = "kill"    // killed
	KindRestart Kind = "restart" // started again, as a new process
	KindNetwork Kind = "network" // what happens to what it sends and is sent: Cause says what, Text in words

	// The run itself could not go on. Lane gcsim.
	KindError Kind = "error"
	// The run is over, and its history complete. Lane gcsim.
	KindEnd Kind = "end"
	// For Took of the last second processes that were ready to run got no processor. Lane: theirs.
	KindStarved Kind = "starved"
	// The story waits for the end of a tenure. Lane gcsim.
	KindAwaited Kind = "awaited"
	// A remark for the reader: something measured. Lane: whom it is about.
	KindNote Kind = "note"
)

// Causes of KindEnded, KindPause and KindNetwork.
const (
	CauseExpired  = "expired"  // the lease ran out
	CauseReleased = "released" // the holder let go
	CauseRevoked  = "revoked"  // the lease was ended from outside
	CauseStop     = "SIGSTOP"
	CauseGC       = "GC"

	CausePartition = "partition" // nothing passes, either way
	CauseDeafen    = "deafen"    // what it sends arrives; the answers do not
	CauseDelay     = "delay"     // what it sends waits in the network
	CauseDeliver   = "deliver"   // what waited goes on
	CauseReset     = "reset"     // its connections break; what was on the way to it is lost
	CauseHeal      = "heal"      // the network works again
)

// Ops of KindInvoke, KindOK, KindFail, KindUnknown, KindApplied and KindRefused.
const (
	OpLock    = "lock"
	OpTryLock = "trylock"
	OpUnlock  = "unlock"
	OpRenew   = "renew" // the lease of a lock
	OpRead    = "read"
	OpWrite   = "write"
	OpDelete  = "delete"
	OpChange  = "change" // of several keys; the storage tells of each as a write
	OpCount   = "count"  // many increments, each with a lock, a read, a write and an unlock of its own
)

// Event is one thing that happened, in one lane, at one time. Fields of other kinds are empty.
type Event struct {
	At   time.Duration `json:"at" jsonschema:"required"` // since the run began, in nanoseconds
	Lane string        `json:"lane" jsonschema:"required"`
	Kind Kind          `json:"kind" jsonschema:"required"`

	Op      string `json:"op,omitempty"`
	Client  string `json:"client,omitempty"`                       // who holds, asks or is hit
	Tenure  string `json:"tenure,omitempty"`                       // the lock service's name for it, which means nothing to others
	Request string `json:"request,omitempty"`                      // joins a client's account and the storage's
	Index   int64  `json:"index,omitempty" jsonschema:"minimum=0"` // place in the order of what the storage did since it was started, from 1

	// Step is, in an invoke, the name of the step that it is of, where that has one.
	Step string `json:"step,omitempty"`
	// RetryOf is, in the invoke of a further attempt, the Request of the first one.
	RetryOf string `json:"retry_of,omitempty"`
	// PartOf is, in the invoke of a write, the Request of the first write of a change that is made
	// key by key. Changes has the whole change.
	PartOf string `json:"part_of,omitempty"`

	Scope    string      `json:"scope,omitempty"`
	Token    fence.Token `json:"token,omitempty,string"`
	Mark     fence.Token `json:"mark,omitempty,string"` // the scope's mark after an exclusive claim was admitted, or that refused
	Sequence int64       `json:"sequence,omitempty" jsonschema:"minimum=0"`
	Mode     fence.Mode  `json:"mode,omitempty"` // of a tenure, by the lock service's word; of the claim that a request shows

	Key     string   `json:"key,omitempty"`
	Value   string   `json:"value,omitempty"`
	Missing bool     `json:"missing,omitempty"` // the key has no value
	Changes []Change `json:"changes,omitempty"` // of OpChange, and of a write that is a part of one

	Reason string        `json:"reason,omitempty"` // stale, missing, invalid or ahead; held: a client that holds the lock asked nobody for it; expired: its lease ran out while it waited
	Cause  string        `json:"cause,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
	Text   string        `json:"text,omitempty"`  // an error or a remark, for people
	Nodes  []Node        `json:"nodes,omitempty"` // of a note about the lock service: those that are another than before
	Run    *Run          `json:"run,omitempty"`
}

// Node is one of several servers of the lock service, as it is from an event on. Nothing is judged by that: stages show it.
type Node struct {
	Name  string `json:"name" jsonschema:"required"`
	State string `json:"state" jsonschema:"required"` // one of those below
	Leads bool   `json:"leads,omitempty"`             // it does from now on, and those that led before do not; of none: nothing changes
}

// What a Node does.
const (
	NodeRunning  = "running"
	NodePaused   = "paused"
	NodeDead     = "dead"
	NodeIsolated = "isolated" // it runs, and the others hear nothing of it
)

type Change struct {
	Key   string `json:"key" jsonschema:"required"`
	Value string `json:"value"`
}

// EachKey is a change of several keys as a write of each, and any other event as it is.
func (e Event) EachKey(changes []Change) (list []Event) {
	if e.Op != OpChange {
		return []Event{e}
	}
	for _, c := range changes {
		e.Op, e.Key, e.Value = OpWrite, c.Key, c.Value
		list = append(list, e)
	}
	return list
}

// The verdicts. Undecided is none that can be expected: what would decide could not be seen.
const (
	Safe      = "safe"
	Corrupted = "corrupted" // a write of an earlier tenure landed after a later one began its work, or an acknowledged write is lost
	Blocked   = "blocked"   // the rightful holder was refused, a lock was not granted that was free or should have been, or clients waited for each other
	Undecided = "undecided" // nothing of that was seen, and something could not be seen
)

// Version of the histories that this package writes. In those of version 1, which
// do not say so, a retry is known by what it asks for, nothing marks the end, and
// the numbers that clients show as tokens are not recorded.
const Version = 2

// Violation is what must not happen, and the two events that make it, by their places from 0; Before is -1
// where one event is enough.
type Violation struct {
	Verdict string        `json:"verdict,omitempty"` // Corrupted or Blocked; "" of those that are none by themselves
	Kind    ViolationKind `json:"kind"`
	Text    string        `json:"text"`
	Before  int           `json:"before"`
	Event   int           `json:"event"`
}

// ViolationKind says which rule is broken; docs/histories.md has the rules.
type ViolationKind string

// The kinds of violations: those of Corrupted, and four of Blocked. Overlap, Passed, Unanswered, Unordered,
// Unmeasured and Starved are none by themselves: they make a fact false, or something could not be seen.
const (
	Stale      ViolationKind = "stale"       // a change came after a later tenure's work, or the read of one who shares a lock after its change
	Unheld     ViolationKind = "unheld"      // a change of no tenure came after a tenure's work
	Unguarded  ViolationKind = "unguarded"   // a key was changed under two locks at a time
	Shared     ViolationKind = "shared"      // two clients worked in one tenure
	Late       ViolationKind = "late"        // a change came after a later one of its own tenure that was acknowledged
	Lost       ViolationKind = "lost"        // a change is gone, or was acknowledged and never made
	Denied     ViolationKind = "denied"      // a change was made of which its client was told that it failed
	Torn       ViolationKind = "torn"        // half of a change was found
	Refusal    ViolationKind = "refused"     // the holder was refused
	NotGranted ViolationKind = "not-granted" // a free lock was not granted
	Orphaned   ViolationKind = "orphaned"    // a lock was held too long after nobody could renew it
	Deadlocked ViolationKind = "deadlocked"  // clients waited for each other for too long
	Overlap    ViolationKind = "overlap"     // a tenure began before one that it cannot share its lock with was over
	Passed     ViolationKind = "passed"      // a tenure was granted before one that had queued earlier
	Unanswered ViolationKind = "unanswered"  // the storage left open what became of a request
	Starved    ViolationKind = "starved"     // the machine gave no processor time, and may have made another story of the run
	Unordered  ViolationKind = "unordered"   // which of two tenures was granted first could not be seen
	Unmeasured ViolationKind = "unmeasured"  // whether a time was too long could not be measured
)

// Run says what a history is a history of.
type Run struct {
	Version  int    `json:"version,omitempty" jsonschema:"maximum=2"` // absent: 1
	Scenario string `json:"scenario"`                                 // the file's name without .yaml
	Title    string `json:"title"`
	Variant  string `json:"variant"`
	Control  bool   `json:"control,omitempty"`
	Fencing  bool   `json:"fencing"`
	// InService: the data lies in the lock service, which tells in the lane of the storage what it did.
	InService bool     `json:"in_service,omitempty"`
	About     string   `json:"about,omitempty"`  // what sets the variant apart, in words
	Leases    string   `json:"leases,omitempty"` // how long the clients' leases are, in words
	Lesson    string   `json:"lesson,omitempty"`
	Helps     string   `json:"helps,omitempty"`
	Source    string   `json:"source,omitempty"`
	Service   string   `json:"service,omitempty"` // absent: firstService
	Lanes     []string `json:"lanes"`             // in the order in which to draw them
	Nodes     []Node   `json:"nodes,omitempty"`   // of the lock service, when the story begins; absent: it has one, or they are not known
	// Together are sets of keys that make sense only if one tenure wrote them all.
	Together [][]string `json:"together,omitempty"`
	// Tokens say which number each client shows as its token, by the words below.
	Tokens map[string]string `json:"tokens,omitempty"`
	// Sessions name for a client the one whose session it uses: their tenures cannot be told apart.
	Sessions map[string]string `json:"sessions,omitempty"`
	// Unlocked: no client asks for a lock, so that the lock service has nothing to tell.
	Unlocked bool `json:"unlocked,omitempty"`
	// Bounds are how long a client's lock is held at most after nobody can renew it: the TTL, and what
	// the lock service promises. A client without one is not judged by it.
	Bounds map[string]time.Duration `json:"bounds,omitempty"`
	// Handover is for how long at most a lock is free while a client waits for it. 0: that is not judged.
	Handover time.Duration `json:"handover,omitempty"`
	// Skew is by how much the clocks by which clients reckon differ at most. 0: nothing is said of that.
	Skew   time.Duration `json:"skew,omitempty" jsonschema:"minimum=0"`
	Seed   uint64        `json:"seed,omitempty"` // of what was chosen at random; 0: nothing was
	Expect Expect        `json:"expect"`
}

// What a client shows as its token, in the words of the first lock service's settings, the oldest ones.
const (
	ShowsGrant = "revision" // the number of its grant, by the lock service's account
	ShowsLater = "header"   // one that is at least as high
	ShowsAny   = "lease"    // one that has nothing to do with it
	ShowsMax   = "max"      // 2^63-1
	ShowsNone  = "none"     // no token
)

// firstService is the lock service of histories that name none, from when there was no other.
const firstService = "etcd"

// LockService is the name of the lock service, and of its lane.
func (r Run) LockService() string { return cmp.Or(r.Service, firstService) }

// Expect is what must come out of a run.
type Expect struct {
	Verdict string `json:"verdict"`
	Stale   *int   `json:"stale,omitempty"`   // requests refused as stale
	Refused *int   `json:"refused,omitempty"` // requests refused, for whatever reason
	Ordered *bool  `json:"ordered,omitempty"` // whether tokens grew in the order of grants
	// Exclusive is whether no tenure began before the one before it was over.
	Exclusive *bool             `json:"exclusive,omitempty"`
	Fair      *bool             `json:"fair,omitempty"`   // whether the lock service granted in the order of requests
	Fenced    *bool             `json:"fenced,omitempty"` // whether the storage did what a fenced storage does, by its own history
	Final     map[string]string `json:"final,omitempty"`
	Missing   []string          `json:"missing,omitempty"` // keys that have no value at the end
	Steps     map[string]string `json:"steps,omitempty"`   // what became of the steps of these names
}

// IsNone reports whether nothing is said of what must come out, as of an incident.
func (e Expect) IsNone() bool { return reflect.ValueOf(e).IsZero() }

// WantedVerdict is the verdict that is expected: Safe where nothing is said.
func (e Expect) WantedVerdict() string { return cmp.Or(e.Verdict, Safe) }

// What can become of a step, beside refusals. That a read found a value is StepFound and the value.
const (
	StepOK      = "ok"
	StepFailed  = "failed" // for a reason that has nothing to do with fencing
	StepUnknown = "unknown"
	StepFound   = "found "
	StepNothing = "found nothing"
)

// StepOutcomes are all but what a read found.
var StepOutcomes = []string{StepOK, StepFailed, StepUnknown, StepNothing, "stale", "missing", "invalid", "ahead"}

// Sort puts events in the order of their times; equal times stay as they are.
func Sort(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}

// Decimal is a token as it is written; "" where there is none.
func Decimal(t fence.Token) string {
	if t == 0 {
		return ""
	}
	return t.String()
}
