// Package natstest is for tests on NATS.
package natstest

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/nats/natsproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves a test out where there is no NATS.
func Need(t *testing.T) {
	t.Helper()
	if where, bring := natsproc.Found(); where == "" {
		need.Missing(t, "the program of NATS", "to run members and clients", "go run ./cmd/"+bring)
	}
}
