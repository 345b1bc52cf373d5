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
	tried      = 200              // and twice as many, until the storage shows how quick it is
	triedTime  = 300 * time.Millisecond
)

// manyMarksStay has as many scopes as the law takes about a minute for, also of a slow storage.
func (j *judge) manyMarksStay(ctx context.Context, l fencetest.Law) error {
	s := j.subject()
	if s.Marks = j.scopes; s.Marks == 0 {
		n, took := tried, time.Duration(0)
		for ; took < triedTime && n < maxScopes; n *= 2 { // a storage may get slower as it fills
			began := time.Now()
			if err := j.writes(ctx, n); err != nil {
				return err
			}
			took = time.Since(began)
		}
		s.Marks = scopesFor(n/2, took)
	}
	return l.Check(ctx, s)
}

// scopesFor is how many scopes there are for a storage that has taken so long for n.
func scopesFor(n int, took time.Duration) int {
	return min(max(minScopes, int(float64(n)*scopesTime.Seconds()/max(took, 1).Seconds())), maxScopes)
}

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

// crowd is the law for which as many write at the same moment as a storage takes.
const crowd = "CrowdIsOneStep"

const (
	fewest    = 4
	most      = 256
	crowdTime = 5 * time.Second // a storage that takes longer has enough to do
	there     = 2 * time.Second // in which all connections of a crowd are to be made, some at a second attempt
)

// crowdIsOneStep has the crowd grow until the storage is saturated: it takes long, or leaves requests unanswered.
func (j *judge) crowdIsOneStep(ctx context.Context, l fencetest.Law) error {
	s := j.subject()
	if j.takesBodyFirst(ctx) {
		s.Prepare = prepare
	}
	defer func() { j.client.slots = make(chan struct{}, underWay) }()
	for n := fewest; n <= most; n *= 4 {
		began := time.Now()
		answered, err := j.crowdOf(ctx, l, s, n)
		if !answered {
			_, err = j.crowdOf(ctx, l, s, n/2) // the last one
			return err
		}
		if err != nil || time.Since(began) > crowdTime {
			return err
		}
	}
	return nil
}

// crowdOf judges a crowd of n. It is not answered if the storage answers a single request, and not all of the crowd.
func (j *judge) crowdOf(ctx context.Context, l fencetest.Law, s fencetest.Subject, n int) (answered bool, err error) {
	s.Crowd = n
	j.client.slots = make(chan struct{}, n)
	err = l.Check(ctx, s)
	if err != nil && n > fewest && isUnanswered(err) && j.silent(ctx) == nil {
		return false, nil
	}
	j.racers = n
	return true, err
}
