// Package swap changes what a store keeps of a scope, and its mark, where the store's one step is a write that is refused if
// somebody else has written since the read.
package swap

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Kept is what a store keeps of a scope beside its data.
type Kept struct {
	Mark fence.Mark
	By   string // the change that has written it; "": none that is known
}

// Place is where a store keeps the data of a scope. V is the data, with what Write needs to know of the read.
type Place[V any] struct {
	Package string // the store's, for errors
	// Bound returns the highest token that can have been given out, as that of fence.Register. Nil: none is known.
	Bound func(fence.Claim) (fence.Token, error)
	Read  func(context.Context) (V, Kept, error)
	// Write returns false if it is refused because somebody has written since the read.
	Write func(context.Context, V, Kept) (written bool, err error)
}

// again is how long a change waits at most that somebody else came before, so that those who change one scope do not meet
// again and again.
const again = 10 * time.Millisecond

// Do changes the data by edit, if c is admitted, and raises the mark. Errors of edit are returned as they are.
//
// A write that something on the way sends twice is done, and is refused. The name of the change tells Do of that. Where the
// place cannot be read after a refusal, nobody knows, and the error is Unknown.
func (p Place[V]) Do(ctx context.Context, c fence.Claim, edit func(V) (V, error)) error {
	failed := func(err error) error {
		return fmt.Errorf("%s: scope %q, token %d: %w", p.Package, c.Scope, c.Token, err)
	}
	if _, err := (fence.Mark{}).Admit(c); err != nil {
		return err // whatever the mark is
	}
	for by, refused := cryptorand.Text(), false; ; refused = true {
		v, before, err := p.Read(ctx)
		switch {
		case err != nil && refused:
			return failed(fence.Unknown.Wrap(err))
		case err != nil:
			return failed(err)
		case before.By == by:
			return nil
		}
		now, err := Admit(before.Mark, c, p.Bound)
		if err != nil {
			return err
		}
		if v, err = edit(v); err != nil {
			return err
		}
		written, err := p.Write(ctx, v, Kept{now.Done(c), by})
		if err != nil {
			return failed(err)
		}
		if written {
			return nil
		}
		select {
		case <-time.After(rand.N(again)):
		case <-ctx.Done():
			return failed(fence.Unknown.Wrap(fmt.Errorf("a write was refused, perhaps because of a copy of itself: %w", ctx.Err())))
		}
	}
}

// Admit is the mark's Admit, and refuses a token beyond the bound before. A token that was admitted before was issued, whatever
// bound says, which may be nil.
func Admit(m fence.Mark, c fence.Claim, bound func(fence.Claim) (fence.Token, error)) (fence.Mark, error) {
	if bound != nil && c.Token > m.Highest() {
		if err := c.CheckBound(bound); err != nil {
			return fence.Mark{}, err
		}
	}
	return m.Admit(c)
}
