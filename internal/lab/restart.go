package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// restartStorageFault starts it again, with the same address and files.
var restartStorageFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "restart storage", Target: scenario.TargetStorage, About: "Starts the killed storage again.",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if !s.StorageDead {
				return "the storage runs: it needs a step \"gcsim: kill storage\" before"
			}
			s.StorageDead = false
			return ""
		}},
	do: func(r *run, ctx context.Context, _ scenario.Step) error { return r.restartStorage(ctx) },
}

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
