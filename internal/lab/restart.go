package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
)

// restartStorage starts it again, with the same address and files.
func (r *run) restartStorage(ctx context.Context) error {
	s := r.world.storage
	select {
	case <-s.process.Done():
	default:
		return errors.New("the storage still runs: kill it first")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startDeadline, fmt.Errorf("it is not ready after %v", startDeadline))
	defer cancel()
	if err := r.launchStorage(ctx); err != nil {
		return err
	}
	r.state.dead = false
	r.recorder.add(history.Event{At: r.recorder.now(), Lane: history.LaneStorage, Kind: history.KindRestart})
	return nil
}
