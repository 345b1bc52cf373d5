package redis

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

var killNode = nodes.Kill(func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
	n := of.(*servers).named(step.Node)
	at := stage.Now()
	stage.Mean(n.process())
	if err := n.process().Kill(); err != nil {
		return err
	}
	stage.Remark(at, n.name+" is killed")
	return stage.AwaitClosed(ctx, "the end of what "+n.name+" told", n.watch.ended)
})

var restartNode = nodes.Restart(func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
	s := of.(*servers)
	n := s.named(step.Node)
	n.away.Lock()
	defer n.away.Unlock()
	n.watch.stop()
	if err := stage.Meanwhile(ctx, n.name+" to serve", n.server.Restart); err != nil {
		return err
	}
	stage.Guard(n.process())
	stage.Remark(stage.Now(), n.name+" is started again")
	if s.standby != nil && n == s.standby.replica {
		return s.rejoin(ctx)
	}
	defer s.account.because(n.name + " has not kept its key")()
	return stage.Meanwhile(ctx, "the account of "+n.name, func(context.Context) error { return n.observe(ctx, s.account) })
})

var pauseNode = nodes.Pause(signal(" is stopped", (*proc.Process).Pause))

var resumeNode = nodes.Resume(signal(" goes on", (*proc.Process).Resume))

// signal does something to a node's process; how says so.
func signal(how string, do func(*proc.Process) error) service.Doing {
	return func(_ context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		n := of.(*servers).named(step.Node)
		at := stage.Now()
		err := do(n.process())
		if err == nil {
			stage.Remark(at, n.name+how)
		}
		return err
	}
}

// named is the node of that name.
func (s *servers) named(name string) *node {
	i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.name == name })
	return s.nodes[i]
}
