package sqlservice

import (
	"context"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// Server is one that a run has for itself.
type Server interface {
	Process() *proc.Process
	Kill() error
	Restart(ctx context.Context) error
	Pause(ctx context.Context) error
	Resume() error
}

// Node are the servers of a run, which are one server.
type Node interface {
	service.Servers
	// Server is that of the run.
	Server() Server
	// Watched is closed when the account has all that the server told before it ended.
	Watched() <-chan struct{}
	// Again goes on with the account after the server was away. starting bounds how long
	// that takes.
	Again(ctx, starting context.Context) error
}

// Faults are what can be done to the server.
func Faults(nodes service.Nodes) []*service.Fault {
	kill, restart := nodes.Kill(on(kill)), nodes.Restart(on(restart))
	pause, resume := nodes.Pause(signal(" is stopped", Server.Pause)), nodes.Resume(signal(" goes on", resume))
	return []*service.Fault{&kill, &restart, &pause, &resume}
}

// on is a fault of a Node.
func on(do func(context.Context, Node, service.Story, scenario.Step) error) service.Doing {
	return func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
		return do(ctx, of.(Node), story, step)
	}
}

// signal does something to the server's processes; how says so.
func signal(how string, do func(Server, context.Context) error) service.Doing {
	return on(func(ctx context.Context, n Node, story service.Story, step scenario.Step) error {
		return service.Noted(story, step.Node+how, func() error { return do(n.Server(), ctx) })
	})
}

func resume(s Server, _ context.Context) error { return s.Resume() }

func kill(ctx context.Context, n Node, story service.Story, step scenario.Step) error {
	story.Ends(n.Server().Process())
	if err := service.Noted(story, step.Node+" is killed", n.Server().Kill); err != nil {
		return err
	}
	return story.AwaitClosed(ctx, "the end of what "+step.Node+" told", n.Watched())
}

func restart(ctx context.Context, n Node, story service.Story, step scenario.Step) error {
	if err := story.Meanwhile(ctx, step.Node+" to serve", n.Server().Restart); err != nil {
		return err
	}
	story.Guard(n.Server().Process())
	story.Remark(story.Now(), step.Node+" is started again")
	return story.Meanwhile(ctx, "the account of "+step.Node, func(starting context.Context) error { return n.Again(ctx, starting) })
}
