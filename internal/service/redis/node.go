package redis

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

var killNode = nodes.Kill(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	n := of.(*servers).named(step.Node)
	story.Ends(n.process())
	if err := service.Noted(story, n.name+" is killed", n.process().Kill); err != nil {
		return err
	}
	return story.AwaitClosed(ctx, "the end of what "+n.name+" told", n.watch.ended)
})

var restartNode = nodes.Restart(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	n := s.named(step.Node)
	n.away.Lock()
	defer n.away.Unlock()
	n.watch.stop()
	if err := story.Meanwhile(ctx, n.name+" to serve", n.server.Restart); err != nil {
		return err
	}
	story.Guard(n.process())
	story.Remark(story.Now(), n.name+" is started again")
	if s.standby != nil && n == s.standby.replica {
		return s.rejoin(ctx, story)
	}
	defer s.account.because(n.name + " has not kept its key")()
	return story.Meanwhile(ctx, "the account of "+n.name, func(context.Context) error { return n.observe(ctx, s.account) })
})

var pauseNode = nodes.Pause(signal(" is stopped", (*proc.Process).Pause))

var resumeNode = nodes.Resume(signal(" goes on", (*proc.Process).Resume))

// signal does something to a node's process; how says so.
func signal(how string, do func(*proc.Process) error) service.Doing {
	return func(_ context.Context, of service.Servers, story service.Story, step scenario.Step) error {
		n := of.(*servers).named(step.Node)
		return service.Noted(story, n.name+how, func() error { return do(n.process()) })
	}
}

func (s *servers) named(name string) *node {
	i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.name == name })
	return s.nodes[i]
}
