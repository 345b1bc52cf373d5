// Package kubetest is for tests on Kubernetes.
package kubetest

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves a test out where there is no API server. That is for the night to bring, as Go compiles it for minutes.
func Need(t *testing.T) {
	t.Helper()
	if where, bring := kubeproc.Found(); where == "" {
		need.Night(t, "the API server of Kubernetes is missing: go run ./cmd/"+bring)
		need.Missing(t, "the API server of Kubernetes", "to run it, and clients of client-go", "go run ./cmd/"+bring)
	}
}
