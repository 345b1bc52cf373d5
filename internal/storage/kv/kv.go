// Package kv keeps keys with values, guarded by fencing tokens. It has the engines
// that do so and what they share; package kvhttp serves one over HTTP.
package kv

import (
	"context"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Engine keeps values and marks. All engines obey the laws of package
// fencetest. An error is a refusal (see package fence), fence.ErrDuplicate,
// ErrNotFound, a *LimitError, or a failure; fence.OutcomeOf says what is known by it.
type Engine interface {
	// Write does all ops or none, as one step with the check of the claim.
	Write(ctx context.Context, req Request, ops ...Op) error
	// Read returns the value at key. A claim with a token is checked and raises
	// the mark, one without is not checked.
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
