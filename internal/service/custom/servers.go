package custom

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// servers are the one process of a run, and what it says.
type servers struct {
	stage   service.Stage
	server  *program.Server // nil: there is none
	account *account
	told    chan struct{} // closed when all that the process said was taken in
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	server, err := program.New(stage.Group(), name, stage.Plan().World.Text(settingCommand), filepath.Join(stage.Group().Dir, name))
	if err != nil {
		return nil, err
	}
	s := &servers{stage: stage, server: server, account: newAccount(time.Now())}
	server.Stays, server.Listen = true, s.listen
	return s, server.Start(ctx)
}

// listen begins to take in what a process says. The process ends the run when it ends
// without being told to, and when it says what cannot be.
func (s *servers) listen(p *proc.Process) {
	told := make(chan struct{})
	s.told = told
	s.stage.Go(func() {
		defer close(told)
		err := p.ReadLines(p.Stdout, func(line []byte) error {
			e, err := s.account.event(line)
			if err == nil {
				s.stage.Tell(e)
			}
			return err
		})
		if refused := new(proc.LineError); errors.As(err, &refused) {
			p = nil // whoever ends it: its account is of no use
		}
		s.stage.Fail(p, err)
	})
}

// Observe has nothing to begin: the account began with the process.
func (s *servers) Observe(context.Context) error {
	if s.server == nil {
		return errNoAccount
	}
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.server.Addr()}, nil
}

var faults = nodes.Faults(func(of service.Servers, _ string) service.Subject {
	s := of.(*servers)
	return service.Subject{Controlled: controlled{s.server}, Called: "the lock service", Told: s.told}
}, func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
	if err := story.Meanwhile(ctx, "the lock service to listen", of.(*servers).server.Start); err != nil {
		return err
	}
	story.Remark(story.Now(), "the lock service is started again")
	return nil
})

// controlled is a server that can be stopped.
type controlled struct{ *program.Server }

func (c controlled) Pause(context.Context) error { return c.Process().Pause() }

func (c controlled) Resume() error { return c.Process().Resume() }
