package redis

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

var killNode = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "kill NODE", Own: "kills Redis",
		About: "Kills a node (SIGKILL), until \"restart NODE\".",
		Check: nodes.CheckKill,
	},
	Do: func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		n := of.(*servers).named(step.Node)
		at := stage.Now()
		stage.Mean(n.process())
		if err := n.process().Kill(); err != nil {
			return err
		}
		stage.Remark(at, n.name+" is killed")
		return stage.AwaitClosed(ctx, "the end of what "+n.name+" told", n.watch.ended)
	},
}

var restartNode = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "restart NODE",
		About: "Starts the killed node again, with what it has kept.",
		Check: nodes.CheckRestart,
	},
	Do: func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		s := of.(*servers)
		n := s.named(step.Node)
		if err := stage.Meanwhile(ctx, n.name+" to serve", n.server.Restart); err != nil {
			return err
		}
		stage.Guard(n.process())
		stage.Remark(stage.Now(), n.name+" is started again")
		if s.standby != nil && n == s.standby.replica {
			return s.rejoin(ctx)
		}
		return stage.Meanwhile(ctx, "the account of "+n.name, func(context.Context) error { return n.observe(ctx, s.account) })
	},
}

var pauseNode = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "pause NODE", Own: "stops Redis",
		About: "Stops a node (SIGSTOP), until \"resume NODE\".",
		Check: nodes.CheckPause,
	},
	Do: func(_ context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		n := of.(*servers).named(step.Node)
		at := stage.Now()
		err := n.process().Pause()
		if err == nil {
			stage.Remark(at, n.name+" is stopped")
		}
		return err
	},
}

var resumeNode = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "resume NODE",
		About: "Lets the stopped node go on.",
		Check: nodes.CheckResume,
	},
	Do: func(_ context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		n := of.(*servers).named(step.Node)
		at := stage.Now()
		err := n.process().Resume()
		if err == nil {
			stage.Remark(at, n.name+" goes on")
		}
		return err
	},
}

// named is the node of that name.
func (s *servers) named(name string) *node {
	i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.name == name })
	return s.nodes[i]
}
