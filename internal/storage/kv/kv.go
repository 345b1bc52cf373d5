// Package kv keeps keys with values, guarded by fencing tokens. It has the engines
// that do so and what they share; package kvhttp serves one over HTTP.
package kv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Engine keeps values and marks. All engines obey the laws of package fencetest. An error is a refusal (see package
// fence), fence.ErrDuplicate, ErrNotFound, a *LimitError, or a failure; fence.OutcomeOf says what is known by it.
type Engine interface {
	// Write does all ops or none, as one step with the check of the claim.
	Write(ctx context.Context, req Request, ops ...Op) error
	// Read returns the value at key. A claim with a token is checked and raises the mark, one without is not checked.
	Read(ctx context.Context, req Request, key string) (Item, error)
	// Mark returns the mark of a scope; where it has none of its own the floor, zero where there is none.
	Mark(ctx context.Context, scope string) (fence.Mark, error)
	// Floor and Raise are those of fence.Register.
	Floor(ctx context.Context) (fence.Token, error)
	Raise(ctx context.Context, floor fence.Token) (dropped int, err error)
	// Snapshot calls visit for all that the engine holds, as it is at one moment,
	// in the order that Restore wants, and returns the error of visit.
	Snapshot(ctx context.Context, visit func(Entry) error) error
	// Stats is what it holds and takes up.
	Stats(ctx context.Context) (Stats, error)
	// Ready returns an error that says what the engine waits for, where it cannot serve now.
	Ready(ctx context.Context) error
	// Close lets what is under way come to its end. It must not be called twice.
	Close() error
}

// Stats is what an engine holds.
type Stats struct {
	Keys  int64 // that have a value
	Bytes int64 // of keys and values; -1 where the engine cannot tell
	Marks int64 // scopes that have a mark of their own; see Etcd.Stats
	Disk  int64 // bytes of its file, 0 where it has none
}

// Request is what comes with every operation.
type Request struct {
	fence.Claim
	ID string // for logs and the journal; may be empty
}

// The kinds of Op, also in batches and journals.
const (
	OpRead   = "read"
	OpWrite  = "write"
	OpDelete = "delete"
)

// MaxOps is how many operations a Write may have.
const MaxOps = 1024

// Op is one change: OpWrite or OpDelete. Deleting a key that is not there is no error.
type Op struct {
	Kind  string
	Key   string
	Value string // any bytes
}

// Item is a value and the token that wrote it, 0 where fencing was off and none was given.
type Item struct {
	Value string
	Token fence.Token
}

var (
	// ErrNotFound: the key has no value.
	ErrNotFound = fence.Definite.New("key not found")
	// ErrClosed: the engine was closed before the operation began.
	ErrClosed = fence.Definite.New("the storage is closed")
	// ErrUnavailable: what the engine needs is not there now, as an etcd. What wraps it says the outcome.
	ErrUnavailable = errors.New("the storage is not available")
	// ErrDisk: the disk is full or failed, here or at etcd. What wraps it says the outcome.
	ErrDisk = errors.New("the disk does not take it")
)

// The limits that a LimitError can name.
const (
	LimitBody        = "body"        // bytes of a request's body
	LimitKey         = "key"         // bytes of a key
	LimitValue       = "value"       // bytes of a value
	LimitOps         = "ops"         // operations of a batch
	LimitKeys        = "keys"        // keys that have a value
	LimitMarks       = "marks"       // scopes that have a mark of their own
	LimitMemory      = "memory"      // bytes of bodies and values under way, of all clients
	LimitSnapshots   = "snapshots"   // under way
	LimitConnections = "connections" // open at a time
	LimitRate        = "rate"        // requests a second, of one client
)

// LimitError is the refusal of what is over a limit.
type LimitError struct {
	Limit string
	Max   int64  // 0 where it is not known
	Say   string // what to do about it; may be empty
}

func (e *LimitError) Error() string {
	s := fmt.Sprintf("over the limit of %d %s", e.Max, cmp.Or(limitWords[e.Limit], e.Limit))
	if e.Max == 0 {
		s = fmt.Sprintf("over a limit of what keeps the data (%s)", e.Limit)
	}
	if e.Say != "" {
		s += ": " + e.Say
	}
	return s
}

// limitWords say what a limit is a number of, where its name does not.
var limitWords = map[string]string{
	LimitBody:   "bytes for a body",
	LimitKey:    "bytes for a key",
	LimitValue:  "bytes for a value",
	LimitOps:    "operations for a batch",
	LimitMemory: "bytes for what is under way",
	LimitRate:   "requests a second for one client",
}

// Outcome returns fence.Definite.
func (e *LimitError) Outcome() fence.Outcome { return fence.Definite }

// judged reports whether err says that the engine has judged the operation, and nothing was
// done or nothing was to be done. Any other error is a failure of the engine.
func judged(err error) bool {
	_, over := errors.AsType[*LimitError](err)
	return over || fencehttp.ReasonOf(err) != "" || errors.Is(err, fence.ErrDuplicate) || errors.Is(err, ErrNotFound)
}

// Line tells of one operation that an engine did or refused, or knew as done before. In the journal it is a
// JSON object on a line. The first line of a journal has only Time and Listen.
type Line struct {
	Time   time.Time `json:"time"`             // set by the journal
	Listen string    `json:"listen,omitempty"` // the address that the storage serves

	Index    int64       `json:"index,omitempty"` // its place in the engine's order, from 1
	Op       string      `json:"op,omitempty"`    // read, write or delete
	ID       string      `json:"request,omitempty"`
	Scope    string      `json:"scope,omitempty"`
	Token    fence.Token `json:"token,omitempty,string"`
	Sequence int64       `json:"sequence,omitempty,string"`
	Mode     fence.Mode  `json:"mode,omitempty"`
	Key      string      `json:"key,omitempty"`
	Value    string      `json:"value,omitempty"`
	Missing  bool        `json:"missing,omitempty"` // a read found no value
	// Mark is the mark of the scope after an admission; 0 where fencing is off, and after a shared claim. Of
	// a stale request it is the mark that refused the request.
	Mark    fence.Token      `json:"mark,omitempty,string"`
	Refused fencehttp.Reason `json:"refused,omitempty"` // why, where it was
	Would   fencehttp.Reason `json:"would,omitempty"`   // why it would have been refused, where tokens are only observed
	Error   string           `json:"error,omitempty"`

	Duplicate bool `json:"duplicate,omitempty"` // it was done before, and was not done again
}

// Journal writes what an engine does as JSON lines: the storage's own account of the order in which it
// applied requests, for gcsim and for people. It is no write-ahead log.
type Journal struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error // of the first write that failed
}

// NewJournal writes to w.
func NewJournal(w io.Writer) *Journal { return &Journal{enc: json.NewEncoder(w)} }

// Listening writes the first line: the address that the storage serves.
func (j *Journal) Listening(addr string) { j.write(Line{Time: time.Now(), Listen: addr}) }

// Observe writes a line. Engines call it by Options.Observe.
func (j *Journal) Observe(line Line) {
	line.Time = time.Now()
	j.write(line)
}

// write logs the first failure and goes on: a storage does not stop serving because its journal is closed or its disk
// full. A reader that stays and does not read does stop it: the order of the account is that of the operations.
func (j *Journal) write(line Line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	if j.err = j.enc.Encode(line); j.err != nil {
		slog.Error("the journal ends here", "err", j.err)
	}
}
