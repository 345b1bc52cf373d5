package lab

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// step does one step and returns when what it names has happened.
func (r *run) step(ctx context.Context, s scenario.Step) error {
	switch s.Verb {
	case scenario.Pause:
		return r.pause(s.Client)
	case scenario.Resume:
		return r.resume(s.Client)
	case scenario.Kill:
		return r.kill(s.Client)
	case scenario.Load:
		return r.load(ctx, s.Client)
	case scenario.GC:
		return r.gc(ctx, s.Client)
	case scenario.Await:
		return r.awaitGC(ctx, s.Client)
	case scenario.AwaitExpiry:
		return r.awaitExpiry(ctx, s.Client)
	}
	return r.act(ctx, s)
}

// act makes a client do something, and awaits its answer and what the other
// accounts say of it.
func (r *run) act(ctx context.Context, s scenario.Step) error {
	command := string(s.Verb)
	switch s.Verb {
	case scenario.Begin:
		command += " write " + s.Key + "=" + s.Value
	case scenario.Read, scenario.Delete:
		command += " " + s.Key
	case scenario.Write:
		command += " " + s.Key + "=" + s.Value
	}
	c := r.state.client(s.Client)
	before, notes := c.replies, c.notes
	if err := r.command(s.Client, command); err != nil {
		return err
	}
	within := stepDeadline + r.variant.Clients[s.Client].TTL
	return r.await(ctx, fmt.Sprintf("%s's %s", s.Client, s.Verb), within, func() (bool, error) {
		if s.Verb == scenario.Begin {
			return c.notes > notes, nil // no request, and so no reply
		}
		if c.replies == before {
			return false, nil
		}
		return r.state.told(c.reply), nil
	})
}

// told reports whether the account that an answer speaks of has spoken too.
func (s *state) told(reply history.Event) bool {
	switch {
	case reply.Request != "" && (reply.Kind == history.KindOK || reply.Reason != ""):
		return s.done[reply.Request]
	case reply.Request != "" || reply.Kind != history.KindOK:
		return true
	case reply.Op == history.OpUnlock:
		return s.owner(reply.Tenure).ended
	default:
		return s.owner(reply.Tenure).granted
	}
}

// command sends a line to a client's agent.
func (r *run) command(client, line string) error {
	if _, err := io.WriteString(r.world.procs[client].Stdin, line+"\n"); err != nil {
		return fmt.Errorf("tell %s to %q: %w", client, line, err)
	}
	return nil
}

// awaitExpiry waits for the end of the tenure that the client was granted last.
func (r *run) awaitExpiry(ctx context.Context, client string) error {
	c := r.state.client(client)
	if c.tenure == "" {
		return fmt.Errorf("%s holds no lock that could expire", client)
	}
	within := stepDeadline + r.variant.Clients[client].TTL
	return r.await(ctx, "the expiry of "+client+"'s lease", within, func() (bool, error) {
		if r.state.owner(c.tenure).ended {
			return true, nil
		}
		if c.frozen.Kind == history.KindResume && c.frozen.Cause == history.CauseGC {
			return false, fmt.Errorf("%s's collection took %v and was over before the lease ran out: this machine is too fast for a heap of that size",
				client, c.frozen.Took.Round(time.Millisecond))
		}
		return false, nil
	})
}
