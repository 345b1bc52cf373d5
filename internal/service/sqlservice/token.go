package sqlservice

import (
	"context"
	_ "embed"

	"github.com/fencelab/fencelab/internal/history"
)

//go:embed sql/token_free.sql
var tokenFree string

// Taking makes one attempt, as Recipe.Take.
type Taking[C any] func(ctx context.Context, conn C, a *Attempt) (bool, error)

// Changing runs a statement, in which $1 is the first argument, and reports whether it changed
// a row.
type Changing[C any] func(ctx context.Context, conn C, statement string, args ...any) (bool, error)

// Token is a row with an owner, the end of the lease by the database's clock, and a number
// that grows in the statement that takes the lock.
func Token[C any](take Taking[C], changed Changing[C]) Recipe[C] {
	return Recipe[C]{
		ID: "token", Shows: history.ShowsGrant,
		Text: "A row with its owner, the end of its lease by the database's clock, and a token, which the UPDATE that takes the lock makes one higher.",
		Take: take,
		Free: func(ctx context.Context, conn C, a *Attempt) (bool, error) {
			return changed(ctx, conn, tokenFree, a.Lock, a.Owner)
		},
	}
}
