package main

import (
	"io/fs"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/all"
)

// TestStories: all stories are scenarios.
func TestStories(t *testing.T) {
	files, err := fs.Glob(stories, "*/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(stories, file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lab.Language(all.List).Parse(file, "story", data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestMeasures: what is measured is from the first fault on.
func TestMeasures(t *testing.T) {
	event := func(at int, kind history.Kind) history.Event {
		return history.Event{At: time.Duration(at) * time.Second, Kind: kind}
	}
	of := run{
		{Run: &history.Run{Title: "story"}}, event(1, history.KindGranted), event(2, history.KindEnded), event(3, history.KindKill), event(4, history.KindPause),
		event(5, history.KindLost), event(6, history.KindEnded), event(9, history.KindGranted),
	}
	later := append(run{of[0], event(1, history.KindKill)}, event(3, history.KindGranted))
	if of.outage() != 6*time.Second || of.told() != 2*time.Second || of.over() != 3*time.Second {
		t.Errorf("outage %v, told after %v, over after %v", of.outage(), of.told(), of.over())
	}
	if got := spread([]run{of, later, later}, run.outage); got != "2.0 (2.0 to 6.0)" {
		t.Errorf("got %s", got)
	}
}
