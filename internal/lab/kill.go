package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// killFault ends a client by SIGKILL, and waits until all that the process told is taken in.
var killFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "kill CLIENT", About: "Kills the client (SIGKILL); the TTL frees its locks.",
		Check: func(_ *scenario.Story, c *scenario.ClientStory, _ scenario.Step) string {
			*c = scenario.ClientStory{Stopped: scenario.Killed, Asked: c.Asked, Cut: c.Cut, Delayed: c.Delayed, Sent: c.Sent}
			return ""
		}},
	do: func(r *run, ctx context.Context, s scenario.Step) error {
		p, e := r.world.clients[s.Client], r.event(s.Client, history.KindKill)
		r.Ends(p.Process)
		if err := p.Kill(); err != nil {
			return err
		}
		if err := r.AwaitClosed(ctx, "the end of what "+s.Client+" told", p.gone); err != nil {
			return err
		}
		r.state.record(e)
		return nil
	},
}

// killStorageFault ends its process by SIGKILL, and waits until all that it told is taken in.
var killStorageFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "kill storage", Target: scenario.TargetStorage, About: "Kills the storage (SIGKILL).",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if s.StorageDead {
				return "the storage is dead already"
			}
			s.StorageDead, s.StorageStill = true, false
			return ""
		}},
	do: func(r *run, ctx context.Context, _ scenario.Step) error {
		s, e := r.world.storage, r.event(history.LaneStorage, history.KindKill)
		r.Ends(s.process)
		if err := s.kill(); err != nil {
			return err
		}
		if err := r.AwaitClosed(ctx, "the end of the storage's journal", s.gone); err != nil {
			return err
		}
		r.state.storageDied()
		r.recorder.add(e)
		return nil
	},
}

// restartFault starts a new process for a killed one, of the same name and network. It knows nothing.
var restartFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "restart CLIENT", Dead: true, Check: checkRestart,
		About: "Starts the killed client again, as a new process that holds nothing."},
	do: func(r *run, ctx context.Context, s scenario.Step) error {
		r.state.restarted(s.Client)
		r.state.record(r.event(s.Client, history.KindRestart))
		if err := r.startClient(s.Client); err != nil {
			return err
		}
		return r.awaitReady(ctx, s.Client)
	},
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
	do: func(r *run, ctx context.Context, _ scenario.Step) error {
		if !service.IsClosed(r.world.storage.process.Done()) {
			return errors.New("the storage still runs: kill it first")
		}
		ctx, cancel := starting(ctx)
		defer cancel()
		if err := r.launchStorage(ctx); err != nil {
			return err
		}
		r.state.dead = false
		r.recorder.add(r.event(history.LaneStorage, history.KindRestart))
		return nil
	},
}

// terminateFault asks a client to end (SIGTERM), and waits until it has, and all it told is taken in.
var terminateFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "terminate CLIENT",
		About: "Asks the client to end (SIGTERM): it releases its locks, waits for its requests, and ends.",
		Check: ofRunning(killFault.Check)},
	do: (*run).terminate,
}

func (r *run) terminate(ctx context.Context, s scenario.Step) error {
	client := s.Client
	p := r.world.clients[client]
	r.Ends(p.Process)
	leader, err := os.FindProcess(p.PID()) // what it has started is its own to end
	if err == nil {
		err = leader.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return fmt.Errorf("send SIGTERM to %s: %w", client, err)
	}
	if err := r.AwaitClosed(ctx, client+" to end after SIGTERM", p.gone); err != nil {
		return err
	}
	err = r.await(ctx, "the lock service to tell of what "+client+" released", r.within(client), func() (bool, error) {
		return r.state.told(r.state.client(client).reply), nil
	})
	if err != nil {
		return err
	}
	e := r.event(client, history.KindKill)
	e.Text = client + " was asked to end (SIGTERM), and has ended"
	r.state.record(e)
	return nil
}
