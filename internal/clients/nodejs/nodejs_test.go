package nodejs_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
)

// TestMissing: what brings the libraries is said where they are missing, and where npm is.
func TestMissing(t *testing.T) {
	originaltest.Missing(t, nodejs.Name, "node-libraries: npm fetches it, and npm is missing: apt-get install nodejs npm")
}

// TestThin: a library is a file of at most 120 lines.
func TestThin(t *testing.T) { originaltest.Thin(t, "of_*.mjs") }
