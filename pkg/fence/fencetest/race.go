package fencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// How hard the races try. A round is some racing requests and a few others: enough
// that a store with a gap between check and operation is caught, few enough for a
// store on a disk.
const (
	raceRounds = 200
	raceOlder  = 3 // requests of earlier tenures that race the newest one's
)

// A race lets a holder and its predecessors make requests at the same moment, over
// and over. What the holder sees when its request is acknowledged must stay: an
// older request that was checked before and lands after it shows the gap.
type race struct {
	newest, older         string     // what they do
	newestMode, olderMode fence.Mode // of their claims
	otherKey              bool       // the older ones work on another key of the scope
	processes             bool       // the older ones ask another process
	first                 bool       // in a scope that nobody has claimed before
}

func checkAndWriteAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opWrite, older: opWrite})
}

func checkAndDeleteAreOneStep(ctx context.Context, sub Subject) error {
	if err := sub.run(ctx, race{newest: opWrite, older: opDelete}); err != nil {
		return err
	}
	return sub.run(ctx, race{newest: opDelete, older: opWrite})
}

func checkAndReadAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opRead, older: opWrite})
}

func scopeIsOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opWrite, older: opWrite, otherKey: true})
}

func firstClaimsAreOneStep(ctx context.Context, sub Subject) error {
	return sub.run(ctx, race{newest: opWrite, older: opWrite, first: true})
}

func processesShareTheStep(ctx context.Context, sub Subject) error {
	if sub.Second == nil {
		return fmt.Errorf("%w: no second process can open the data", ErrNotApplicable)
	}
	return sub.run(ctx, race{newest: opWrite, older: opWrite, processes: true})
}

// run lets the races take turns. They agree on processes.
func (sub Subject) run(ctx context.Context, races ...race) error {
	one, err := sub.open(ctx)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	two := one
	if races[0].processes {
		if two, err = sub.second(ctx, one); err != nil {
			return fmt.Errorf("open a second one: %w", err)
		}
	}
	for round := range raceRounds {
		newest := fence.Token((round + 1) * (raceOlder + 2))
		r := races[round%len(races)]
		if err := r.round(ctx, one, two, newest); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// round is one race. The key that the older ones work on is the one to watch.
func (r race) round(ctx context.Context, one, two Store, newest fence.Token) error {
	scope := lock
	if r.first {
		scope = fmt.Sprintf("%s-%d", lock, newest)
	}
	own, watched := scope, scope
	if r.otherKey {
		watched = lock2
	}
	claim := func(t fence.Token, mode fence.Mode) fence.Claim {
		return fence.Claim{Scope: scope, Token: t, Mode: mode}
	}
	before := newest - raceOlder - 1 // after the round before
	if !r.first {
		if err := one.Write(ctx, claim(before, fence.Exclusive), watched, "before the race"); err != nil {
			return fmt.Errorf("write with token %d: %w", before, err)
		}
	}
	var (
		wg    sync.WaitGroup
		seen  string
		first error
		older [raceOlder]error
	)
	start := make(chan struct{})
	wg.Go(func() {
		<-start
		if seen, first = request(ctx, one, r.newest, claim(newest, r.newestMode), own); first == nil && r.newest != opRead {
			seen, _, first = one.Read(ctx, claim(0, fence.Exclusive), watched)
		}
	})
	for i := range older {
		wg.Go(func() {
			<-start
			_, older[i] = request(ctx, two, r.older, claim(newest-fence.Token(i)-1, r.olderMode), watched)
		})
	}
	close(start)
	wg.Wait()
	if first != nil {
		return fmt.Errorf("racing %s with token %d: %w", r.newest, newest, first)
	}
	for i, err := range older {
		if err != nil && !errors.Is(err, fence.ErrStale) {
			return fmt.Errorf("racing %s with token %d: %w", r.older, newest-fence.Token(i)-1, err)
		}
	}
	last, _, err := one.Read(ctx, claim(0, fence.Exclusive), watched)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	want := seen
	switch {
	case r.newest == opDelete:
		want = ""
	case r.newest == opWrite && !r.otherKey:
		want = newest.String()
	}
	if last != want {
		return fmt.Errorf("the %s with token %d was acknowledged, and then a %s with an older token, checked before it, landed: %s became %q, want %q",
			r.newest, newest, r.older, watched, last, want)
	}
	if err := two.Write(ctx, claim(newest-1, fence.Exclusive), watched, "stale"); !errors.Is(err, fence.ErrStale) {
		text := fmt.Sprintf("after the %s with token %d a write with %d: got %v, want it refused as stale", r.newest, newest, newest-1, err)
		return unwanted(text, err)
	}
	return nil
}

// What a request does.
const (
	opWrite  = "write"
	opDelete = "delete"
	opRead   = "read"
)

// request does op; a write has the token as its value.
func request(ctx context.Context, s Store, op string, c fence.Claim, key string) (value string, err error) {
	switch op {
	case opWrite:
		return "", s.Write(ctx, c, key, c.Token.String())
	case opDelete:
		return "", s.Delete(ctx, c, key)
	}
	value, _, err = s.Read(ctx, c, key)
	return value, err
}
