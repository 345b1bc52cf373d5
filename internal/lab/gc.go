package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// gcSlack is by how much a collection is to outlast twice the TTL: the lease may end half a second late, and
// another client takes the lock and writes.
const gcSlack = time.Second

var loadFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "load CLIENT",
		About: "The client fills its heap until one collection outlasts its lease.",
		Check: ofRunning(func(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if c.Begun {
				return step.Client + " is in the middle of what it has begun: it can do nothing else until it finishes"
			}
			c.Loaded = true
			return ""
		})},
	// A Go process then collects its garbage with the world stopped, as other runtimes do.
	env: []string{"GODEBUG=gcstoptheworld=1"},
	// What it measured becomes a note in the history.
	do: func(r *run, ctx context.Context, s scenario.Step) error {
		c := r.state.client(s.Client)
		before := c.notes
		target := 2*r.variant.Clients[s.Client].Time(setting.TTL) + gcSlack
		r.note(s.Client, "%s fills its heap until a collection takes %g s or more; that takes a while", s.Client, target.Seconds())
		r.recorder.flush() // so that it can be read meanwhile
		if err := r.command(s.Client, fmt.Sprintf("load %v", target)); err != nil {
			return err
		}
		return r.await(ctx, s.Client+"'s heap", loadDeadline, func() (bool, error) { return c.notes > before, nil })
	},
}

var gcFault = action{
	Form: scenario.Form{Actor: scenario.ActorLab, Usage: "gc CLIENT",
		About: "A garbage collection that stops all of the client begins.",
		Check: ofRunning(func(_ *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if !c.Loaded {
				return fmt.Sprintf("a collection in %s would be over in a moment: it needs a step \"gcsim: load %[1]s\" before", step.Client)
			}
			c.Stopped, c.Timed = scenario.Collected, false
			return ""
		})},
	// A collector that works beside the program is known by its pauses when it is done.
	do: func(r *run, ctx context.Context, s scenario.Step) error {
		c := r.state.client(s.Client)
		before := c.Fault.Line
		if err := r.command(s.Client, "gc"); err != nil {
			return err
		}
		return r.await(ctx, s.Client+"'s collection to begin", loadDeadline, func() (bool, error) { return c.Fault.Line > before, nil })
	},
}
