package lab

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// killFault ends a client's process by SIGKILL: it says goodbye to nobody. It waits
// until all that the process told is taken in.
var killFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "kill CLIENT", About: "Kills the client (SIGKILL); the TTL frees its locks.",
		Check: func(_ *scenario.Story, c *scenario.ClientStory, _ scenario.Step) string {
			*c = scenario.ClientStory{Stopped: scenario.Killed, Asked: c.Asked, Cut: c.Cut, Delayed: c.Delayed, Sent: c.Sent}
			return ""
		}},
	do: func(r *run, ctx context.Context, s scenario.Step) error { return r.kill(ctx, s.Client) },
}

func (r *run) kill(ctx context.Context, client string) error {
	p := r.world.clients[client]
	r.Ends(p.Process)
	at := r.recorder.now()
	if err := p.Kill(); err != nil {
		return err
	}
	if err := r.AwaitClosed(ctx, "the end of what "+client+" told", p.gone); err != nil {
		return err
	}
	r.state.record(history.Event{At: at, Lane: client, Client: client, Kind: history.KindKill})
	return nil
}

// killStorageFault ends its process by SIGKILL, and waits until all that it told is
// taken in.
var killStorageFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "kill storage", Target: scenario.TargetStorage, About: "Kills the storage (SIGKILL).",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if s.StorageDead {
				return "the storage is dead already"
			}
			s.StorageDead, s.StorageStill = true, false
			return ""
		}},
	do: func(r *run, ctx context.Context, _ scenario.Step) error { return r.killStorage(ctx) },
}

func (r *run) killStorage(ctx context.Context) error {
	s := r.world.storage
	at := r.recorder.now()
	r.Ends(s.process)
	if err := s.kill(); err != nil {
		return err
	}
	if err := r.AwaitClosed(ctx, "the end of the storage's journal", s.gone); err != nil {
		return err
	}
	r.state.storageDied()
	r.recorder.add(history.Event{At: at, Lane: history.LaneStorage, Kind: history.KindKill})
	return nil
}
