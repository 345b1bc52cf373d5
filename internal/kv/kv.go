// Package kv is the storage: keys with values, guarded by fencing tokens. An
// Engine keeps them; NewHandler serves an Engine over HTTP, by two protocols
// that docs/protocol.md describes; Client speaks the newer one.
package kv

import (
	"context"
	"errors"

	"github.com/fencelab/fencelab/pkg/fence"
)

// ErrNotFound: the key has no value.
var ErrNotFound = errors.New("key not found")

// Engine keeps values and marks. All engines obey the laws of package
// fencetest. An error is a refusal (see package fence), fence.ErrDuplicate,
// ErrNotFound, or a failure.
type Engine interface {
	// Write does all ops or none, as one step with the check of the claim.
	Write(ctx context.Context, req Request, ops ...Op) error
	// Read returns the value at key. A claim with a token is checked and raises
	// the mark, one without is not checked.
	Read(ctx context.Context, req Request, key string) (Item, error)
	// Mark returns the mark of a scope, zero where it has none.
	Mark(ctx context.Context, scope string) (fence.Mark, error)
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

// Op is one change: OpWrite or OpDelete. Deleting a key that is not there is no
// error.
type Op struct {
	Kind  string
	Key   string
	Value string // any bytes
}

// Item is a value and the token that wrote it, 0 where fencing was off and none
// was given.
type Item struct {
	Value string
	Token fence.Token
}
