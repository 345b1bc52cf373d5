package laws

import (
	"context"
	"fmt"
	"net/http"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// batch writes a value at a key by a batch of one.
func (s v1) batch(ctx context.Context, c fence.Claim, key, value string) (program.Answer, error) {
	body := fmt.Sprintf(`{"ops": [{"op": "write", "key": %q, "val": %q}]}`, s.name(key), value)
	header := append(s.header(c), "Content-Type: application/json")
	return s.client.ask(ctx, s.base, Exchange{Method: http.MethodPost, Path: program.PathBatch, Header: header, Body: body})
}

func batchIsFenced(s *steps) {
	if !s.judge.speaks.Batch {
		s.fail("%w: the storage knows no batches", fencetest.ErrNotApplicable)
	}
	batch := func(t fence.Token, want bool) {
		if s.err != nil {
			return
		}
		a, err := s.batch(s.ctx, claim(t), key, "batch")
		switch {
		case err != nil:
			s.fail("a batch with token %d: %w", t, err)
		case a.OK() != want:
			s.fail("a batch with token %d: the storage answered %v, want admitted: %v", t, a, want)
		}
	}
	batch(34, false)
	batch(0, false)
	s.stays("kept", "batches that are stale, or have no token,")
	batch(36, true)
	s.write(35, "stale after a batch with token 36", fence.ErrStale)
	s.stays("batch", "a batch with token 36")
}
