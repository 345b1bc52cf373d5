package rust_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/rust"
)

// TestMissing: what brings the program is said where it is missing, and where Cargo is.
func TestMissing(t *testing.T) {
	originaltest.Missing(t, rust.Name, "rust-peer: Cargo compiles it, and Cargo is missing: https://rustup.rs")
}

// TestThin: a library is a file of at most 120 lines.
func TestThin(t *testing.T) { originaltest.Thin(t, "peer/src/of_*.rs") }
