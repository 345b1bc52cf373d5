// Package history holds the one type that passes between the stages of gcsim:
// the lab writes events, the verdict judges them, the report draws them. A
// history is a file of JSON lines, so that a run can be judged and drawn again
// without running it again.
package history

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
)

// The lanes that are not clients. A client's lane is the client's name.
const (
	LaneEtcd    = "etcd"
	LaneStorage = "storage"
	LaneLab     = "gcsim"
)

// Kind says what an Event tells.
type Kind string

// The kinds, by the account that they belong to.
const (
	// First event of a history: what was run and what is expected of it (Run).
	KindRun Kind = "run"

	// The lock service's own account, seen by an observer that is none of the
	// clients. Lane etcd.
	KindGranted Kind = "granted" // tenure Tenure of Client begins
	KindEnded   Kind = "ended"   // it ends: Cause CauseExpired, CauseReleased or CauseRevoked
	KindQueued  Kind = "queued"  // Client stands in the queue behind a holder; Tenure and Token are those that it will have

	// The storage's own account, in the order in which it did things (Index).
	// Lane storage.
	KindApplied Kind = "applied" // a read, write or delete took place
	KindRefused Kind = "refused" // and will not take place; Reason says why
	// A request was answered as a duplicate: by its sequence number the storage knew
	// that it had done it before, and did not do it again.
	KindDuplicate Kind = "duplicate"
	KindFinal     Kind = "final" // at the end: Key holds Value (Missing: no value)

	// What a client says of itself. Lane: the client.
	KindInvoke  Kind = "invoke"  // it sends Op
	KindOK      Kind = "ok"      // Op succeeded
	KindFail    Kind = "fail"    // Op failed, definitely: it has no effect
	KindUnknown Kind = "unknown" // Op may or may not have had its effect (indefinite)
	KindLost    Kind = "lost"    // it was told that its tenure is over

	// Faults. Lane: the client that suffers, or etcd or the storage.
	KindPause   Kind = "pause"   // stopped (Cause: how)
	KindResume  Kind = "resume"  // goes on; Took says how long it stood still
	KindKill    Kind = "kill"    // killed
	KindRestart Kind = "restart" // started again, as a new process
	KindNetwork Kind = "network" // what happens to what it sends and is sent: Cause says what, Text in words

	// The run itself could not go on. Lane gcsim.
	KindError Kind = "error"
	// The run is over, and its history complete. Lane gcsim.
	KindEnd Kind = "end"
	// A remark for the reader: something measured. Lane: whom it is about.
	KindNote Kind = "note"
)

// kinds are all there are.
var kinds = []Kind{
	KindRun, KindGranted, KindEnded, KindQueued, KindApplied, KindRefused, KindDuplicate, KindFinal,
	KindInvoke, KindOK, KindFail, KindUnknown, KindLost,
	KindPause, KindResume, KindKill, KindRestart, KindNetwork, KindError, KindEnd, KindNote,
}

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
	OpRead    = "read"
	OpWrite   = "write"
	OpDelete  = "delete"
	OpChange  = "change" // of several keys; the storage tells of each as a write
	OpCount   = "count"  // many increments, each with a lock, a read, a write and an unlock of its own
)

// Event is one thing that happened, in one lane, at one time. Fields that do
// not belong to the kind are empty.
type Event struct {
	At   time.Duration `json:"at"` // since the run began, in nanoseconds
	Lane string        `json:"lane"`
	Kind Kind          `json:"kind"`

	Op      string `json:"op,omitempty"`
	Client  string `json:"client,omitempty"`  // who holds, asks or suffers
	Tenure  string `json:"tenure,omitempty"`  // the key in the lock service, "@", and its create revision
	Request string `json:"request,omitempty"` // joins a client's account and the storage's
	Index   int64  `json:"index,omitempty"`   // place in the order of what the storage did since it was started, from 1

	// RetryOf is, in the invoke of a further attempt, the Request of the first one:
	// both ask for the same.
	RetryOf string `json:"retry_of,omitempty"`
	// PartOf is, in the invoke of a write, the Request of the first write of the
	// change that it is a part of, which is made one key after the other. Changes
	// has the whole change.
	PartOf string `json:"part_of,omitempty"`

	Scope    string      `json:"scope,omitempty"`
	Token    fence.Token `json:"token,omitempty,string"`
	Mark     fence.Token `json:"mark,omitempty,string"` // the scope's mark after an admission, or that refused
	Sequence int64       `json:"sequence,omitempty"`

	Key     string   `json:"key,omitempty"`
	Value   string   `json:"value,omitempty"`
	Missing bool     `json:"missing,omitempty"` // the key has no value
	Changes []Change `json:"changes,omitempty"` // of OpChange, and of a write that is a part of one

	Reason string        `json:"reason,omitempty"` // stale, missing, invalid or ahead; held: a client that holds the lock asked nobody for it; expired: its lease ran out while it waited
	Cause  string        `json:"cause,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
	Text   string        `json:"text,omitempty"` // an error or a remark, for people
	Run    *Run          `json:"run,omitempty"`
}

// Change is a new value for a key.
type Change struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// The verdicts.
const (
	Safe      = "safe"
	Corrupted = "corrupted" // a write of an earlier tenure landed after a later one began its work, or an acknowledged write is lost
	Blocked   = "blocked"   // the rightful holder was refused, or a free lock was not granted
)

// Verdicts are all there are.
var Verdicts = []string{Safe, Corrupted, Blocked}

// Version of the histories that this package writes. In those of version 1, which
// do not say so, a retry is known by what it asks for, nothing marks the end, and
// the numbers that clients show as tokens are not recorded.
const Version = 2

// Run says what a history is a history of.
type Run struct {
	Version  int      `json:"version,omitempty"` // absent: 1
	Scenario string   `json:"scenario"`          // the file's name without .yaml
	Title    string   `json:"title"`
	Variant  string   `json:"variant"`
	Control  bool     `json:"control,omitempty"`
	Fencing  bool     `json:"fencing"`
	About    string   `json:"about,omitempty"` // what sets the variant apart, in words
	Lesson   string   `json:"lesson,omitempty"`
	Helps    string   `json:"helps,omitempty"`
	Source   string   `json:"source,omitempty"`
	Lanes    []string `json:"lanes"` // in the order in which to draw them
	// Together are sets of keys that make sense only if one tenure wrote them all.
	Together [][]string `json:"together,omitempty"`
	// Tokens say which number each client shows as its token: "revision" is that of
	// its grant.
	Tokens map[string]string `json:"tokens,omitempty"`
	Seed   uint64            `json:"seed,omitempty"` // of what was chosen at random; 0: nothing was
	Expect Expect            `json:"expect"`
}

// Expect is what must come out of a run.
type Expect struct {
	Verdict string `json:"verdict"`
	Stale   *int   `json:"stale,omitempty"`   // requests refused as stale
	Refused *int   `json:"refused,omitempty"` // requests refused, for whatever reason
	Ordered *bool  `json:"ordered,omitempty"` // whether tokens grew in the order of grants
	// Exclusive is whether no tenure began before the one before it was over.
	Exclusive *bool             `json:"exclusive,omitempty"`
	Fenced    *bool             `json:"fenced,omitempty"` // whether the storage did what a fenced storage does, by its own history
	Final     map[string]string `json:"final,omitempty"`
}

// Write writes events as JSON lines.
func Write(w io.Writer, events []Event) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// Read reads what Write wrote. An error names the line.
func Read(r io.Reader) ([]Event, error) {
	br := bufio.NewReader(r)
	var events []Event
	for n := 1; ; n++ {
		line, rerr := br.ReadBytes('\n')
		if rerr != nil && !errors.Is(rerr, io.EOF) {
			return nil, fmt.Errorf("history: line %d: %w", n, rerr)
		}
		if len(line) > 0 {
			e, err := parse(line)
			if err == nil && n > 1 {
				err = e.check()
			}
			if err != nil {
				return nil, fmt.Errorf("history: line %d is no event: %w", n, err)
			}
			events = append(events, e)
		}
		if rerr != nil {
			break
		}
	}
	if len(events) == 0 || events[0].Kind != KindRun || events[0].Run == nil {
		return nil, errors.New(`history: line 1 must be an event of kind "run" that says what was run: this is no history of gcsim`)
	}
	return events, nil
}

func parse(line []byte) (e Event, err error) {
	if !utf8.Valid(line) {
		return e, errors.New("it is not UTF-8") // and JSON would make one key of two
	}
	err = json.Unmarshal(line, &e)
	return e, err
}

// check refuses what stands in no history after its first line, and what would
// be judged as if it were not there or were something else.
func (e Event) check() error {
	switch {
	case e.Kind == KindRun:
		return errors.New("another run begins here, and a history is of one")
	case !slices.Contains(kinds, e.Kind):
		return fmt.Errorf("its kind is %q, which is unknown", e.Kind)
	case e.Lane == "":
		return errors.New("it names no lane")
	case e.Tenure == "" && slices.Contains([]Kind{KindGranted, KindEnded, KindQueued}, e.Kind):
		return fmt.Errorf("its kind is %q, and it names no tenure", e.Kind)
	}
	return nil
}

// Sort puts events in the order of their times; equal times stay as they are.
func Sort(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
}
