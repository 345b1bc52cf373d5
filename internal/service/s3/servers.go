package s3

import (
	"context"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc"
)

type servers struct {
	stage  service.Stage
	server *proc.Node
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	server, err := s3proc.Start(ctx, stage.Group())
	if err != nil {
		return nil, err
	}
	return &servers{stage, server}, nil
}

// Observe begins to read what the server has told and tells.
func (s *servers) Observe(context.Context) error {
	process, account := s.server.Process(), newAccount(s.stage)
	s.stage.Go(func() { s.stage.Fail(process, process.ReadLines(process.Stdout, account.line)) })
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.server.Addr}, nil
}

// Leave has nothing to do: the server ends with the run.
func (s *servers) Leave(context.Context) {}
