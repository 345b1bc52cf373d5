package laws

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// manyMarks is the law for which a storage is shown as many scopes as there is time for.
const manyMarks = "ManyMarksStay"

// How many scopes that are.
const (
	minScopes  = 2_000
	maxScopes  = 25_000
	scopesTime = 30 * time.Second // to write in all of them
	tried      = 200              // by which the storage shows how quick it is
)

// manyMarksStay checks the law with so many scopes that it is over in about a minute, also of
// a storage that is slow.
func (j *judge) manyMarksStay(ctx context.Context, l fencetest.Law) error {
	s := j.subject()
	if s.Marks = j.scopes; s.Marks == 0 {
		began := time.Now()
		if err := j.writes(ctx, tried); err != nil {
			return err
		}
		s.Marks = scopesFor(time.Since(began))
	}
	return l.Check(ctx, s)
}

// scopesFor is how many scopes there are for a storage that has taken so long for those that
// were tried.
func scopesFor(took time.Duration) int {
	return min(max(minScopes, int(scopesTime*tried/max(took, 1))), maxScopes)
}

// writes writes in so many scopes.
func (j *judge) writes(ctx context.Context, n int) error {
	s, err := j.begin(ctx)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(underWay)
	for i := range n {
		g.Go(func() error {
			scope := fmt.Sprintf("lock-%d", i)
			return s.Write(ctx, fence.Claim{Scope: scope, Token: 34}, scope, "value")
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("a write in a scope of its own: %w", err)
	}
	return nil
}
