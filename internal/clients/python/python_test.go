package python_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
)

// TestMissing: what brings the libraries is said where they are missing, and where Python is.
func TestMissing(t *testing.T) {
	originaltest.Missing(t, python.Name, "python-libraries: Python fetches it, and Python is missing: apt-get install python3-venv")
}

// TestThin: a library is a file of at most 120 lines.
func TestThin(t *testing.T) { originaltest.Thin(t, "of_*.py") }
