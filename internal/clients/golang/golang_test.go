package golang_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
)

// TestMissing: what brings the program is said where it is missing, and where Go is.
func TestMissing(t *testing.T) {
	originaltest.Missing(t, golang.Name, "go-peer: Go compiles it, and Go is missing: https://go.dev/doc/install")
}

// TestThin: a library is a file of at most 120 lines.
func TestThin(t *testing.T) { originaltest.Thin(t, "peer/of_*.go") }

var requirement = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9./-]+) (v[^ \n]+)$`)

// TestPinned: the linters see the program against the versions with which users compile it.
func TestPinned(t *testing.T) {
	ours := make(map[string]string)
	for _, m := range requirement.FindAllSubmatch(read(t, "../../../go.mod"), -1) {
		ours[string(m[1])] = string(m[2])
	}
	pinned := requirement.FindAllSubmatch(read(t, "peer/pinned.mod"), -1)
	if len(pinned) < 5 {
		t.Fatalf("pinned.mod requires %d modules: the test looks for the wrong words", len(pinned))
	}
	for _, m := range pinned {
		if ours[string(m[1])] != string(m[2]) {
			t.Errorf("%s is %s in pinned.mod, and %q in go.mod: change it, and pinned.sum by go mod tidy", m[1], m[2], ours[string(m[1])])
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
