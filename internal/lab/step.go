package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
)

// step does one step and returns when what it names has happened.
func (r *run) step(ctx context.Context, s scenario.Step) error {
	switch s.Verb {
	case scenario.Pause, scenario.Resume:
		if s.Client == scenario.TargetLeader {
			return r.stopLeader(ctx, s.Verb == scenario.Pause)
		}
		if s.Verb == scenario.Pause {
			return r.pause(ctx, s.Client, s.For)
		}
		if err := r.resume(s.Client); err != nil || len(r.state.client(s.Client).sending) == 0 {
			return err
		}
		return r.awaitGoing(ctx, s.Client) // with what it was told meanwhile
	case scenario.Kill:
		if s.Client == scenario.TargetStorage {
			return r.killStorage(ctx)
		}
		return r.kill(s.Client)
	case scenario.Restart:
		return r.restartStorage(ctx)
	case scenario.Load:
		return r.load(ctx, s.Client)
	case scenario.GC:
		return r.gc(ctx, s.Client)
	case scenario.Await:
		return r.awaitGoing(ctx, s.Client)
	case scenario.Partition:
		return r.partition(s.Client)
	case scenario.Deafen:
		return r.deafen(s.Client, s.Service)
	case scenario.Heal:
		return r.heal(s.Client)
	case scenario.Delay:
		return r.delay(s.Client)
	case scenario.Deliver:
		return r.deliver(ctx, s.Client)
	case scenario.Reset:
		return r.reset(ctx, s.Client)
	case scenario.Revoke:
		return r.revoke(ctx, s.Client)
	case scenario.Save:
		return r.save(ctx)
	case scenario.Restore:
		return r.restore(ctx)
	case scenario.AwaitExpiry:
		return r.awaitExpiry(ctx, s.Client)
	case scenario.AwaitLoss:
		return r.awaitLoss(ctx, s.Client)
	case scenario.Count:
		return r.count(ctx, s)
	case scenario.Queue:
		return r.queue(ctx, s.Client)
	case scenario.Lock:
		if c := r.state.client(s.Client); c.queued != "" {
			return r.awaitQueued(ctx, c)
		}
	}
	if s.Send {
		return r.send(ctx, s)
	}
	if s.Verb == scenario.Lock && r.variant.Clients[s.Client].Session == scenario.SessionOwn {
		return r.lock(ctx, s)
	}
	return r.act(ctx, s)
}

// lock makes a client take the lock. On a machine that stands still for a moment
// its lease may run out before it has the lock, which is no part of any story: then
// it asks anew.
func (r *run) lock(ctx context.Context, s scenario.Step) error {
	const attempts = 5
	for range attempts {
		if err := r.act(ctx, s); err != nil {
			return err
		}
		if reply := r.state.client(s.Client).reply; reply.Kind != history.KindFail || reply.Reason != history.CauseExpired {
			return nil
		}
	}
	return fmt.Errorf("%s's lease of %v ran out %d times before it had the lock: this machine is too slow, or the TTL too short",
		s.Client, r.variant.Clients[s.Client].TTL, attempts)
}

// within is for how long a client's step is waited for.
func (r *run) within(client string) time.Duration {
	c := r.variant.Clients[client]
	return r.patience + c.TTL + c.Delay + c.Timeout
}

// lockOf is the name of a client's lock, as etcd knows it.
func (r *run) lockOf(client string) string { return r.world.prefix + r.variant.Clients[client].Lock }

// act makes a client do something, and awaits its answer and what the other
// accounts say of it.
func (r *run) act(ctx context.Context, s scenario.Step) error {
	c := r.state.client(s.Client)
	before, stood := c.replies, c.stands
	if err := r.command(s.Client, r.line(s)); err != nil {
		return err
	}
	what := fmt.Sprintf("%s's %s", s.Client, s.Verb)
	if holder := r.state.holder(r.lockOf(s.Client)); s.Verb == scenario.Lock && holder != "" {
		what += " (" + holder + " holds it)"
	}
	return r.await(ctx, what, r.within(s.Client), func() (bool, error) {
		if s.Verb == scenario.Begin && c.stands > stood {
			return true, nil // no request, and so no reply
		}
		over := c.replies == before+len(r.requests(s)) || c.replies > before && c.reply.Kind != history.KindOK
		return over && !(s.Verb == scenario.Begin && c.reply.Kind == history.KindOK) && r.state.told(c.reply), nil
	})
}

// line is a step as the agent of its client reads it.
func (r *run) line(s scenario.Step) string {
	if session := r.variant.Clients[s.Client].Session; s.Verb == scenario.Lock || s.Verb == scenario.TryLock {
		if _, shared := r.variant.Clients[session]; shared {
			return fmt.Sprintf("%s in %s", s.Verb, leaseOf(r.state.client(session).tenure))
		}
	}
	return s.Command()
}

// command sends a line to a client's agent.
func (r *run) command(client, line string) error {
	p := r.world.clients[client]
	_, err := io.WriteString(p.Stdin, line+"\n")
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		return fmt.Errorf("tell %s to %q: %w", client, line, p.Ended())
	case err != nil:
		return fmt.Errorf("tell %s to %q: %w", client, line, err)
	}
	return nil
}

// requests are the writes that a step is of. Most are of one request, whatever it
// says.
func (r *run) requests(s scenario.Step) []history.Change {
	if s.Verb == scenario.Change && r.variant.Clients[s.Client].Change == scenario.ChangeSingly {
		return slices.Clone(s.Changes)
	}
	return []history.Change{{}}
}

// send makes a client send something whose answer is not waited for. A client
// that stands still does it as soon as it can.
func (r *run) send(ctx context.Context, s scenario.Step) error {
	c := r.state.client(s.Client)
	c.sending = r.requests(s)
	n := len(c.sending)
	if err := r.command(s.Client, r.line(s)); err != nil || c.frozen.Kind == history.KindPause {
		return err
	}
	return r.awaitSent(ctx, s.Client, fmt.Sprintf("%s to %s", s.Client, s.Command()), r.within(s.Client), func() bool {
		return len(c.sending) < n && r.waiting(s.Client) || r.state.arrived(s.Client)
	})
}

// queue makes a client ask for the lock, and awaits that it stands in the queue.
func (r *run) queue(ctx context.Context, client string) error {
	since, err := r.revision(ctx)
	if err != nil {
		return err
	}
	c := r.state.client(client)
	c.queues = true
	if err := r.command(client, string(scenario.Queue)); err != nil {
		return err
	}
	before := c.tenure
	return r.await(ctx, client+"'s place in the queue", r.within(client), func() (bool, error) {
		switch {
		case c.queues:
			return r.state.waits(client, r.lockOf(client), since), nil
		case c.tenure != before: // it had to wait for nobody
			c.queued = c.tenure
			return r.state.owner(c.tenure).granted, nil
		}
		return true, nil // it could not ask
	})
}

// awaitQueued waits for the lock that a client has queued for.
func (r *run) awaitQueued(ctx context.Context, c *clientState) error {
	tenure := c.queued
	c.queued = ""
	o := r.state.owner(tenure)
	if err := r.command(o.client, "wait"); err != nil {
		return err
	}
	return r.await(ctx, o.client+"'s lock", r.within(o.client), func() (bool, error) {
		return !c.queues && (o.granted && o.told != 0 || c.tenure != tenure), nil
	})
}

// awaitLoss waits until a client knows that its tenure is over.
func (r *run) awaitLoss(ctx context.Context, client string) error {
	c := r.state.client(client)
	return r.await(ctx, client+" to be told of its loss", r.within(client), func() (bool, error) { return c.lost[c.tenure], nil })
}

// awaitExpiry waits for the end of the tenure that the client was granted last, or
// of the place in the queue that it has taken since.
func (r *run) awaitExpiry(ctx context.Context, client string) error {
	c := r.state.client(client)
	tenure := c.latest()
	if tenure == "" {
		return fmt.Errorf("%s holds no lock that could expire", client)
	}
	return r.await(ctx, "the expiry of "+client+"'s lease", r.within(client), func() (bool, error) {
		if r.state.owner(tenure).ended {
			return true, nil
		}
		if c.frozen.Kind == history.KindResume && c.frozen.Cause == history.CauseGC {
			return false, fmt.Errorf("%s's collection took %v and was over before the lease ran out: this machine is too fast for a heap of that size",
				client, c.frozen.Took.Round(time.Millisecond))
		}
		return false, nil
	})
}
