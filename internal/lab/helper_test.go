package lab_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

// language is what the tests' scenarios can say.
var language = lab.Language(all.List)

func parse(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := language.Parse("test.yaml", "test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a variant.
func run(t *testing.T, ctx context.Context, s *scenario.Scenario, v *scenario.Variant, emit func([]history.Event)) ([]history.Event, error) {
	t.Helper()
	events, err := lab.Run(ctx, s, v, lab.Options{Services: all.List, Exe: os.Args[0], Emit: emit})
	return events, err
}

// played is the history of a story that has one variant.
func played(t *testing.T, text string) []history.Event {
	t.Helper()
	s := parse(t, text)
	events, err := run(t, t.Context(), s, &s.Variants[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// sketch is a history in short, without times and what differs from run to run.
func sketch(events []history.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == history.KindStarved || e.Kind == history.KindAwaited {
			continue // how the machine is, and what the steps say
		}
		if e.Lane == history.LaneLab && (e.Kind == history.KindPause || e.Kind == history.KindResume) {
			continue // the machine stood still for a moment
		}
		fmt.Fprintf(&b, "%s %s", e.Lane, e.Kind)
		for _, part := range []string{e.Op, e.Cause, e.Reason} {
			if part != "" {
				fmt.Fprintf(&b, " %s", part)
			}
		}
		if e.Lane == "etcd" {
			fmt.Fprintf(&b, " %s", e.Client)
		}
		if e.Key != "" {
			fmt.Fprintf(&b, " %s=%s", e.Key, e.Value)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// wantAll wants each of the parts in a text.
func wantAll(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}
