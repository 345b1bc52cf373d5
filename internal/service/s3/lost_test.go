package s3_test

import (
	"net/http"
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/network/networktest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/s3"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc"
)

// TestLostAnswer: a client that hears no answer to its PUT does not take its own object for another one's.
func TestLostAnswer(t *testing.T) {
	needs(t)
	server, err := s3proc.Start(t.Context(), proctest.Group(t))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Process().ReadLines(server.Process().Stdout, func([]byte) error { return nil }) }()
	labtest.LostAnswers(t, s3.Service(), networktest.NewLossy(t, server.Addr, func(r *http.Request) bool {
		return r.Method != http.MethodGet && r.Method != http.MethodHead
	}))
}
