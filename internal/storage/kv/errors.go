package kv

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

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
