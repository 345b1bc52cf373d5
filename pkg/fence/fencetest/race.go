package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// How hard checkAndWriteAreOneStep tries. A round is two racing writes and a
// read; enough that a store with a gap between check and write is caught, few
// enough for a store on a disk.
const (
	raceRounds  = 300
	raceWriters = 4
)

// checkAndWriteAreOneStep lets a holder and its predecessors write at the same
// moment, over and over. Once the newest token's write is acknowledged, its
// value must stay: an older write that was checked before and lands after it
// shows the gap.
func checkAndWriteAreOneStep(ctx context.Context, sub Subject) error {
	store, err := sub.Open(ctx)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for round := range raceRounds {
		newest := fence.Token((round + 1) * raceWriters)
		errs := make([]error, raceWriters)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range raceWriters {
			wg.Go(func() {
				<-start
				t := newest - fence.Token(i)
				errs[i] = store.Write(ctx, claim(t), lock, t.String())
			})
		}
		close(start)
		wg.Wait()
		for i, err := range errs {
			if err != nil && (i == 0 || !errors.Is(err, fence.ErrStale)) {
				return fmt.Errorf("round %d: racing write with token %d: %w", round, newest-fence.Token(i), err)
			}
		}
		got, _, err := store.Read(ctx, unfenced, lock)
		if err != nil {
			return fmt.Errorf("round %d: read: %w", round, err)
		}
		if want := strconv.FormatInt(int64(newest), 10); got != want {
			return fmt.Errorf("round %d: the write with token %s was acknowledged, and then the write with token %s, checked before it, landed on top", round, want, got)
		}
	}
	return nil
}
