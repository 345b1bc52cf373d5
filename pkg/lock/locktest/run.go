package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Run checks every law, each as a subtest. A law that the subject cannot
// exercise is skipped, with the reason. Run logs what the subject says of itself,
// which laws were left out for it, and how long the laws took.
func Run(t *testing.T, s Subject) {
	t.Logf("the lock service, by its own account: %s", s)
	began := time.Now()
	check, wait := checks(t.Context(), s, testing.Short())
	defer wait()
	left := 0
	for _, l := range Laws {
		var err error
		t.Run(l.Name, func(t *testing.T) {
			err = check(l)
			switch {
			case errors.Is(err, errors.ErrUnsupported):
				t.Skip(err)
			case err != nil:
				t.Errorf("%v\nThe law: %s", err, l.Doc)
			}
		})
		if errors.Is(err, errors.ErrUnsupported) {
			t.Logf("left out: %s: %v", l.Name, err)
			left++
		}
	}
	t.Logf("%d laws, %d of them left out, took %v", len(Laws), left, time.Since(began).Round(time.Millisecond))
}

// together is how many laws that wait are checked side by side.
const together = 8

var errShort = fmt.Errorf("it waits for the end of a lease, and the tests are to be short: %w", errors.ErrUnsupported)

// checks begins to check the laws that wait, side by side. check checks a law, or waits for
// its outcome. wait returns when no check is under way any more.
func checks(ctx context.Context, s Subject, short bool) (check func(Law) error, wait func()) {
	var (
		under    sync.WaitGroup
		turns    = make(chan struct{}, together)
		outcomes = make(map[string]chan error)
	)
	for _, l := range Laws {
		if !l.Waits || l.Restarts || short {
			continue
		}
		outcome := make(chan error, 1)
		outcomes[l.Name] = outcome
		under.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			outcome <- l.Check(ctx, s)
		})
	}
	check = func(l Law) error {
		switch {
		case l.Waits && short:
			return errShort
		case l.Restarts:
			under.Wait()
		case l.Waits:
			return <-outcomes[l.Name]
		}
		return l.Check(ctx, s)
	}
	return check, under.Wait
}
