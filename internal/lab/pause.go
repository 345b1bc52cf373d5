package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

var pauseFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "pause CLIENT [for TIME]",
		About: "Stops the client (SIGSTOP), for so long or until \"resume CLIENT\".",
		Check: ofRunning(func(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			c.Stopped, c.Timed = scenario.Paused, step.For > 0
			return ""
		})},
	do: func(r *run, ctx context.Context, s scenario.Step) error { return r.pause(ctx, s.Client, s.For) },
}

// check is a scenario.Form's.
type check = func(*scenario.Story, *scenario.ClientStory, scenario.Step) string

// ofRunning is a check that first refuses a client which stands still.
func ofRunning(then check) check {
	return func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
		if c.Stopped != "" {
			return fmt.Sprintf("%s stands still already (%s)", step.Client, c.Stopped)
		}
		return then(s, c, step)
	}
}

var resumeFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "resume CLIENT", About: "Lets the client go on (SIGCONT).",
		Check: func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if c.Stopped == scenario.Collected || c.Timed {
				return fmt.Sprintf("%s goes on by itself: \"gcsim: await %[1]s\" waits for it", step.Client)
			}
			return goOn(c, step)
		}},
	do: func(r *run, ctx context.Context, s scenario.Step) error {
		if err := r.resume(s.Client); err != nil || len(r.state.client(s.Client).sending) == 0 {
			return err
		}
		return r.awaitGoing(ctx, s.Client) // with what it was told meanwhile
	},
}

var awaitAct = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "await CLIENT",
		About: "The collection, or the pause for a time, is over, and so is what the client was told to do meanwhile.",
		Check: func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if c.Stopped == scenario.Paused && !c.Timed {
				return fmt.Sprintf("%s does not go on by itself: \"gcsim: resume %[1]s\" lets it", step.Client)
			}
			return goOn(c, step)
		}},
	do: func(r *run, ctx context.Context, s scenario.Step) error { return r.awaitGoing(ctx, s.Client) },
}

func goOn(c *scenario.ClientStory, step scenario.Step) string {
	if c.Stopped == "" {
		return step.Client + " does not stand still here"
	}
	c.Sent = c.Sent || c.Delayed && c.Told
	c.Stopped, c.Timed, c.Told = "", false, false
	return ""
}

// pauseStorageFault stops the storage: what is asked of it waits, or is given up.
var pauseStorageFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "pause storage", Target: scenario.TargetStorage,
		About: "Stops the storage (SIGSTOP), until \"resume storage\".",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if s.StorageDead || s.StorageStill {
				return "the storage does not run here"
			}
			s.StorageStill = true
			return ""
		}},
	do: func(r *run, _ context.Context, _ scenario.Step) error {
		e := r.event(history.LaneStorage, history.KindPause)
		if err := r.world.storage.process.Pause(); err != nil {
			return err
		}
		e.Cause = history.CauseStop
		r.recorder.add(e)
		return nil
	},
}

var resumeStorageFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "resume storage", Target: scenario.TargetStorage,
		About: "Lets the storage go on (SIGCONT).",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if !s.StorageStill {
				return "the storage does not stand still here"
			}
			s.StorageStill = false
			return ""
		}},
	do: func(r *run, _ context.Context, _ scenario.Step) error {
		e := r.event(history.LaneStorage, history.KindResume)
		e.Cause = history.CauseStop
		r.recorder.add(e)
		return r.world.storage.process.Resume()
	},
}

// pause stops all of a client's process, as the host of a virtual machine or a debugger would: SIGSTOP, and the
// kernel's word that it stands still. With a length it goes on by itself.
func (r *run) pause(ctx context.Context, client string, length time.Duration) error {
	e, stopped, p := r.event(client, history.KindPause), time.Now(), r.world.clients[client]
	if err := p.Pause(); err != nil {
		return err
	}
	e.Cause = history.CauseStop
	r.state.record(e)
	if length == 0 {
		return nil
	}
	r.world.readers.Go(func() {
		select {
		case <-time.After(length):
		case <-ctx.Done():
			return
		}
		began := time.Now()
		if err := p.Resume(); err != nil {
			r.Fail(p.Process, err)
			return
		}
		r.Tell(history.Event{
			At: time.Duration(began.UnixNano()), Lane: client, Client: client,
			Kind: history.KindResume, Cause: history.CauseStop, Took: time.Since(stopped),
		})
	})
	return nil
}

func (r *run) resume(client string) error {
	e, fault := r.event(client, history.KindResume), r.state.client(client).Fault
	if err := r.world.clients[client].Resume(); err != nil {
		return err
	}
	e.Cause, e.Took = fault.Cause, e.At-fault.At
	r.state.record(e)
	return nil
}

// awaitGoing waits until a client that stands still goes on, and has done what it was told meanwhile.
func (r *run) awaitGoing(ctx context.Context, client string) error {
	c := r.state.client(client)
	return r.awaitSent(ctx, client, client+" to go on", loadDeadline, func() bool {
		done := len(c.sending) == 0 && r.waiting(client) || r.state.arrived(client) && r.state.answered(client)
		return c.Fault.Kind == history.KindResume && done
	})
}
