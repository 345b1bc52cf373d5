package model

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"testing"
)

// TestStories tells the stories of a file, of which TestEachRuleIsNoticed in package world knows what comes.
func TestStories(t *testing.T) {
	name := os.Getenv("FENCELAB_STORIES")
	if name == "" {
		t.Skip("TestEachRuleIsNoticed runs it, with FENCELAB_STORIES")
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for from := json.NewDecoder(file); ; {
		var s struct {
			Name           string
			Settings       Settings
			Steps, Cannot  []Step
			Harms          bool
			Corrupts       bool
			Stale, Refused *int
			Comes          map[What]int
		}
		switch err := from.Decode(&s); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatal(err)
		}
		var all Move
		comes := make(map[What]int)
		for n, step := range s.Steps {
			var log Log
			m, can := all.State.Tell(&s.Settings, step, &log)
			if !can {
				t.Fatalf("%s: step %d of %v cannot come", s.Name, n+1, s.Steps)
			}
			for _, e := range log.Entries {
				comes[e.What]++
			}
			all.State, all.Stale, all.Refused = m.State, all.Stale+m.Stale, all.Refused+m.Refused
			if !m.Ends || n == len(s.Steps)-1 {
				all.Hurt(m.Harm)
			}
		}
		if s.Harms != (all.Harm != None) || s.Corrupts != all.Harm.Corrupts() {
			t.Fatalf("%s: harm %d of %v", s.Name, all.Harm, s.Steps)
		}
		if s.Stale != nil && *s.Stale != all.Stale || s.Refused != nil && *s.Refused != all.Refused {
			t.Fatalf("%s: %d stale, %d refused of %v", s.Name, all.Stale, all.Refused, s.Steps)
		}
		if s.Comes != nil && !maps.Equal(s.Comes, comes) {
			t.Fatalf("%s: there comes %v of %v", s.Name, comes, s.Steps)
		}
		for _, step := range s.Cannot {
			if m, can := all.State.Take(&s.Settings, step); can && m.State != all.State {
				t.Fatalf("%s: after %v there can come %v", s.Name, s.Steps, step)
			}
		}
	}
}
