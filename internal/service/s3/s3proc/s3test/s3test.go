// Package s3test is for tests on S3.
package s3test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/s3/s3proc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// What a client of a server needs to know, as the program has it.
const (
	Region    = "us-east-1"
	AccessKey = "fencelab"
	SecretKey = "fencelab-secret"
)

// Need leaves a test out where there is no server of S3.
func Need(t *testing.T) {
	t.Helper()
	if where, bring := s3proc.Found(); where == "" {
		need.Missing(t, "the program of S3", "to run servers and clients", "go run ./cmd/"+bring)
	}
}
