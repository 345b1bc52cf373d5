package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEndpointsThatAreNone: an etcd that does not answer is said before the runs, and
// once; one whose address is lost on the way, as "$ETCD" may be, is not replaced by
// one of the run's own.
func TestEndpointsThatAreNone(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone) // so that nobody waits for what does not come
	cmd := runCommand()
	cmd.SetContext(ctx)
	o := runOptions{side: 1, repeat: 1, places: places{endpoints: []string{"127.0.0.1:1"}}}
	o.junit = filepath.Join(t.TempDir(), "junit.xml")
	results, err := o.results(cmd, []string{"3"})
	if !errors.Is(err, gone) || len(results) > 0 {
		t.Errorf("got %d results, %v", len(results), err)
	}
	if junit, err := os.ReadFile(o.junit); err != nil || !strings.Contains(string(junit), `<error type="could not be run"`) {
		t.Errorf("JUnit's XML is %q, %v, want an error", junit, err)
	}
	root := command()
	root.SetArgs([]string{"run", "3", "--etcd", "127.0.0.1:1"})
	if err := root.ExecuteContext(ctx); !errors.Is(err, gone) {
		t.Errorf("--etcd: got %v", err)
	}

	for _, flag := range []string{"--endpoints", "--etcd", "--junit", "--out"} {
		root := command()
		root.SetArgs([]string{"run", "3", flag, ""})
		if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), flag+" is empty") {
			t.Errorf("an empty %s: got %v", flag, err)
		}
	}
}

// TestRequiredAndMissing: machines that read reports find why nothing was run.
func TestRequiredAndMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	o := runOptions{side: 1, repeat: 1, require: "all"}
	o.junit = filepath.Join(t.TempDir(), "junit.xml")
	if _, err := o.results(runCommand(), []string{"zookeeper/1", "gc-pause/fenced"}); err == nil || !strings.HasPrefix(err.Error(), "zookeeper is missing: ") {
		t.Errorf("got %v", err)
	}
	if junit, err := os.ReadFile(o.junit); err != nil || strings.Count(string(junit), `message="zookeeper is missing: `) != 5 {
		t.Errorf("JUnit's XML is %q, %v, want an error for each of five runs", junit, err)
	}
}

// TestSlowServers: people are told of what takes long, programs are not.
func TestSlowServers(t *testing.T) {
	var told bytes.Buffer
	runOptions{}.waits(&told)("etcd does not serve yet")
	if told.String() != "etcd does not serve yet\n" {
		t.Errorf("people are told %q", &told)
	}
	if (runOptions{reports: reports{json: true}}).waits(&told) != nil {
		t.Error("with --json somebody is told")
	}
}
