package lab

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// restartFault starts a new process in place of a killed one: it has the name and the
// network of the old one, and knows nothing of what that did.
var restartFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "restart CLIENT", Dead: true, Check: checkRestart,
		About: "Starts the killed client again, as a new process that holds nothing."},
	do: func(r *run, ctx context.Context, s scenario.Step) error { return r.restart(ctx, s.Client) },
}

// checkRestart: a new process reaches the lock service and the storage first.
func checkRestart(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	service := s.Variant.World.Service
	switch {
	case c.Stopped != scenario.Killed:
		return fmt.Sprintf("%s was not killed here: it needs a step \"gcsim: kill %[1]s\" before", step.Client)
	case c.CutOff(service):
		return fmt.Sprintf("%s is cut off from %s, and could not begin: it needs a step \"gcsim: heal %[1]s\" before", step.Client, service)
	case s.StorageDead || s.StorageStill:
		return step.Client + " could not begin, as the storage does not run here"
	}
	c.Stopped = ""
	return ""
}

func (r *run) restart(ctx context.Context, client string) error {
	r.state.restarted(client)
	r.state.record(history.Event{At: r.recorder.now(), Lane: client, Client: client, Kind: history.KindRestart})
	if err := r.startClient(client); err != nil {
		return err
	}
	return r.awaitReady(ctx, client)
}

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
	ctx, cancel := starting(ctx)
	defer cancel()
	if err := r.launchStorage(ctx); err != nil {
		return err
	}
	r.state.dead = false
	r.recorder.add(history.Event{At: r.recorder.now(), Lane: history.LaneStorage, Kind: history.KindRestart})
	return nil
}
