package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestExploreFinds: the smallest story that does harm is drawn, and written as a scenario.
func TestExploreFinds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "found.yaml")
	status, got, wrong := gcsim(t, "explore", "gc-pause/unfenced", "-o", file)
	if status != exitDiffers || !strings.Contains(wrong, "does harm") {
		t.Errorf("status %d, %s", status, wrong)
	}
	for _, part := range []string{"client1", "client2", "No story of fewer than"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := language.Parse(file, "found", text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if v := s.Variants[0]; v.Expect.Verdict != history.Corrupted || len(v.Steps) == 0 {
		t.Errorf("the file has %d steps and wants %q", len(v.Steps), v.Expect.Verdict)
	}

	status, got, _ = gcsim(t, "explore", "--service", "redis", "--set", "storage.fencing=off", "--json")
	var found struct {
		Verdict string
		Steps   []string
		States  int
	}
	if err := json.Unmarshal([]byte(got), &found); err != nil {
		t.Fatalf("%v in\n%s", err, got)
	}
	if status != exitDiffers || found.Verdict != history.Corrupted || len(found.Steps) == 0 || found.States == 0 {
		t.Errorf("status %d, %+v", status, found)
	}
}

// TestExploreFindsNothing: the bound is said, and what the model leaves out.
func TestExploreFindsNothing(t *testing.T) {
	status, got, wrong := gcsim(t, "explore", "gc-pause/fenced", "--depth", "8")
	if status != 0 {
		t.Fatalf("status %d, %s:\n%s", status, wrong, got)
	}
	for _, part := range []string{"No story of up to 8 steps of 2 clients does harm", "The model leaves out time"} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

// TestExploreIdleFaults: of a fault that a world cannot have it is said that it adds nothing.
func TestExploreIdleFaults(t *testing.T) {
	args := []string{"explore", "gc-pause/fenced", "--depth", "3", "--faults", "pause,delay,crash,restart,partition,clock"}
	status, got, wrong := gcsim(t, args...)
	if text := strings.Join(strings.Fields(got), " "); status != 0 || !strings.Contains(text, `The fault "clock" adds nothing here: `) {
		t.Errorf("status %d, %s:\n%s", status, wrong, got)
	}
	status, got, wrong = gcsim(t, append(args, "--json")...)
	var found struct {
		Idle []string `json:"adds_nothing"`
	}
	if err := json.Unmarshal([]byte(got), &found); err != nil || status != 0 || len(found.Idle) != 1 {
		t.Errorf("status %d, %s, %v:\n%s", status, wrong, err, got)
	}
}

// TestExploreCannot: what cannot be explored is said.
func TestExploreCannot(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "or --service"},
		{"gc-pause", "name one"},
		{"gc-pause/unfenced --service redis", "one of them"},
		{"gc-pause/unfenced --set storage.fencing=on", "--set is of --service"},
		{"--service etdc", "etcd"},
		{"--service redis --set by", "PATH=VALUE"},
		{"--service redis --set clients.*.by=redlock", "redlock"},
		{"gc-pause/fenced --clients 10", "at most 4 clients"},
		{"gc-pause/fenced --faults pauze", "pause"},
		{"gc-pause/fenced --depth 0", "--depth"},
		{"gc-pause/fenced --clients 4 --depth 100 --memory 8", "memory was full"},
	} {
		status, got, wrong := gcsim(t, append([]string{"explore"}, strings.Fields(c.args)...)...)
		if status != exitCannot || !strings.Contains(wrong, c.want) {
			t.Errorf("%q: status %d, %s, want %q\n%s", c.args, status, wrong, c.want, got)
		}
	}
}

// TestExploreStopped: who stops it hears what is known by then.
func TestExploreStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	status, got, wrong := gcsimUntil(ctx, t, "explore", "gc-pause/fenced", "--depth", "100")
	if status != exitStopped || !strings.Contains(wrong, "stopped before all was told") {
		t.Errorf("status %d, %s", status, wrong)
	}
	if got = strings.Join(strings.Fields(got), " "); !strings.Contains(got, "does harm. Then the search was stopped: ") {
		t.Errorf("it prints\n%s", got)
	}
}
