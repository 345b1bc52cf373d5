package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// actionStep is the script of a step of the action.
func actionStep(t *testing.T, name string) string {
	t.Helper()
	var action struct {
		Runs struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(read(t, root, actionFile), &action); err != nil {
		t.Fatal(err)
	}
	for _, step := range action.Runs.Steps {
		if step.Name == name {
			return step.Run
		}
	}
	t.Fatalf("%s has no step %q", actionFile, name)
	return ""
}

// TestActionRunsGcsim: gcsim gets the words of the inputs, and the step ends with its exit status.
func TestActionRunsGcsim(t *testing.T) {
	need.Programs(t, "to run a step of the action", "bash", "sh", "xargs")
	script := actionStep(t, "Run gcsim")
	run := []string{"run", "--junit", "TEMP/gcsim-out/junit.xml", "-o", "TEMP/gcsim-out"}
	laws := []string{"laws", "--junit", "TEMP/gcsim-out/junit.xml"}
	for _, tt := range []struct {
		run, laws string
		words     []string // that gcsim gets; none: the step ends before
		status    int
	}{
		{"", "", run, 0},
		{"gc-pause my.yaml", "", slices.Concat(run, []string{"gc-pause", "my.yaml"}), 1},
		{"gc-pause\n'my own.yaml' *\n", "", slices.Concat(run, []string{"gc-pause", "my own.yaml", "*"}), 2},
		{"--storage-command 'python3 storage.py --listen {addr}' gc-pause", "", slices.Concat(run, []string{"--storage-command", "python3 storage.py --listen {addr}", "gc-pause"}), 0},
		{"--service redis", "", slices.Concat(run, []string{"--service", "redis"}), 3},
		{"gc-pause", "http://127.0.0.1:1 --writes", slices.Concat(laws, []string{"http://127.0.0.1:1", "--writes"}), 1},
		{"'my.yaml", "", nil, 2},
	} {
		t.Run(fmt.Sprintf("run %q laws %q", tt.run, tt.laws), func(t *testing.T) {
			temp := t.TempDir()
			if err := os.Mkdir(filepath.Join(temp, "gcsim"), 0o755); err != nil {
				t.Fatal(err)
			}
			gcsim := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\" >%s/got\nexit %d\n", temp, tt.status)
			if err := os.WriteFile(filepath.Join(temp, "gcsim", "gcsim"), []byte(gcsim), 0o755); err != nil {
				t.Fatal(err)
			}
			step := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script) // as GitHub does
			step.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "RUN="+tt.run, "LAWS="+tt.laws)
			out, err := step.CombinedOutput()
			if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
				t.Fatal(err)
			}
			if got := step.ProcessState.ExitCode(); got != tt.status {
				t.Errorf("the step ends with status %d, gcsim with %d\n%s", got, tt.status, out)
			}
			got, err := os.ReadFile(filepath.Join(temp, "got"))
			if (err != nil) != (tt.words == nil) {
				t.Fatal(err)
			}
			words := strings.Split(strings.ReplaceAll(string(got), temp, "TEMP"), "\n")
			if words = words[:len(words)-1]; !slices.Equal(words, tt.words) {
				t.Errorf("gcsim gets %q, want %q", words, tt.words)
			}
		})
	}
}
