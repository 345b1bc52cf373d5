package lab

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// terminateFault asks a client to end (SIGTERM), and waits until it has, and all it told is taken in.
var terminateFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "terminate CLIENT",
		About: "Asks the client to end (SIGTERM): it releases its locks, waits for its requests, and ends.",
		Check: func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if wrong := standsStill(c, step); wrong != "" {
				return wrong
			}
			return killFault.Check(s, c, step)
		}},
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
