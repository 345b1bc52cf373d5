package postgres

import (
	"context"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// process is the server's; nil where it was there already.
func (s *servers) process() *proc.Process {
	if s.server == nil {
		return nil
	}
	return s.server.Process()
}

var killNode = nodes.Kill(func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
	s := of.(*servers)
	at := stage.Now()
	stage.Mean(s.process())
	if err := s.server.Kill(); err != nil {
		return err
	}
	stage.Remark(at, step.Node+" is killed")
	return stage.AwaitClosed(ctx, "the end of what "+step.Node+" told", s.watch.ended)
})

var restartNode = nodes.Restart(func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
	s := of.(*servers)
	if err := stage.Meanwhile(ctx, step.Node+" to serve", s.server.Restart); err != nil {
		return err
	}
	stage.Guard(s.process())
	stage.Remark(stage.Now(), step.Node+" is started again")
	return stage.Meanwhile(ctx, "the account of "+step.Node, func(starting context.Context) error { return s.observe(ctx, starting) })
})

var pauseNode = nodes.Pause(signal(" is stopped", (*servers).pause))

var resumeNode = nodes.Resume(signal(" goes on", (*servers).resume))

func (s *servers) pause(ctx context.Context) error { return s.server.Pause(ctx) }

func (s *servers) resume(context.Context) error { return s.server.Resume() }

// signal does something to a server's processes; how says so.
func signal(how string, do func(*servers, context.Context) error) service.Doing {
	return func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		at := stage.Now()
		err := do(of.(*servers), ctx)
		if err == nil {
			stage.Remark(at, step.Node+how)
		}
		return err
	}
}
