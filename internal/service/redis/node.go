package redis

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// signals kill a node, start it again, stop it and let it go on.
var signals = nodes.Faults(func(of service.Servers, name string) service.Subject {
	n := of.(*servers).named(name)
	return service.Subject{Controlled: n.server, Called: name, Told: n.watch.ended}
}, restart)

func restart(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
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
}

func (s *servers) named(name string) *node {
	i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.name == name })
	return s.nodes[i]
}
