// Package fencelab_test holds the documents, the examples and the imports to what is
// there, and runs the main story. What else the binaries do, package e2e runs.
package fencelab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestMainStory types what README says first.
func TestMainStory(t *testing.T) {
	for _, root := range []string{"cmd", "internal", "pkg", "scenarios"} {
		need.Files(t, root)
	}
	out := t.TempDir()
	told := gcsim(t, "-o", out)
	wantTexts(t, told,
		"fenced: the storage checks tokens",
		"client1 is stopped (SIGSTOP)",
		"client1's lease on /lock expired",
		"admitted, mark 4",
		"REFUSED as stale: the mark is 4",
		"at the end: key0=from-client-2",
		"verdict: safe, as expected",
		"unfenced (the control): the storage checks no tokens\netcd; leases: client1 1s, client2 1s. A control is unprotected, and must fail.\n",
		"APPLIED unchecked: client2's",
		"at the end: key0=from-client-1",
		"verdict: corrupted, as expected of the control",
	)
	lost, safe := strings.Index(told, "client2's write is lost"), strings.Index(told, "client2's write is safe")
	if lost < 0 || safe < lost {
		t.Errorf("want the harm first, then what helps:\n%s", told)
	}
	if strings.Contains(told, "\x1b") {
		t.Error("in a pipe the output has escape sequences")
	}

	// The histories can be judged and drawn again.
	fenced := filepath.Join(out, "01-gc-pause", "fenced", "history.jsonl")
	unfenced := filepath.Join(out, "01-gc-pause", "unfenced", "history.jsonl")
	wantTexts(t, gcsim(t, "check", fenced, unfenced), "verdict: safe, as expected", "verdict: corrupted, as expected of the control")
	wantTexts(t, gcsim(t, "draw", fenced, unfenced), "<svg", "</svg>", "REFUSED")
	for _, name := range []string{fenced, filepath.Join(out, "01-gc-pause", "fenced", "verdict.json"), filepath.Join(out, "01-gc-pause", "unfenced", "timeline.svg")} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// gcsim runs it as README does, and returns what it says. It must end with status 0,
// and leave no temporary files.
func gcsim(t *testing.T, args ...string) string {
	t.Helper()
	temporary := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "./cmd/gcsim"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "GITHUB_STEP_SUMMARY=")
	told, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, told)
	}
	if files, err := os.ReadDir(temporary); err != nil || len(files) > 0 {
		t.Errorf("%v leaves %v (%v)", cmd.Args, files, err)
	}
	return string(told)
}

func wantTexts(t *testing.T, told string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(told, text) {
			t.Errorf("no %q in\n%s", text, told)
		}
	}
}
