package postgres

import (
	"context"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// process is the server's; nil where it was there already.
func (s *servers) process() *proc.Process {
	if s.server == nil {
		return nil
	}
	return s.server.Process()
}

// Server implements sqlservice.Node, as those below do.
func (s *servers) Server() sqlservice.Server { return s.server }

func (s *servers) Watched() <-chan struct{} { return s.watch.Ended() }

func (s *servers) Again(ctx, starting context.Context) error { return s.observe(ctx, starting) }
