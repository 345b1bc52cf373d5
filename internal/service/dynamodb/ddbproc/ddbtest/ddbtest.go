// Package ddbtest is for tests on DynamoDB Local.
package ddbtest

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves a test out where there is no DynamoDB Local, or no program of clients.
func Need(t *testing.T) {
	t.Helper()
	need.Programs(t, "to run DynamoDB Local", "java")
	if where, bring := ddbproc.Found(); where == "" {
		need.Missing(t, "DynamoDB Local", "to run servers and clients", "go run ./cmd/"+bring)
	}
}
