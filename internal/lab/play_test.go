package lab_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

// teller hands a run its steps when a test says so.
type teller struct {
	steps chan scenario.Step
	asks  chan struct{}        // gets one when the run asks for a step
	looks chan []history.Event // gets all that the run shows
}

func newTeller() teller {
	return teller{make(chan scenario.Step), make(chan struct{}, 100), make(chan []history.Event, 1000)}
}

func (w teller) options() lab.Options {
	return lab.Options{
		Services: all.List, Exe: os.Args[0],
		Next: func() <-chan scenario.Step { w.asks <- struct{}{}; return w.steps },
		Look: func(events []history.Event) { w.looks <- events },
	}
}

// await waits until the run has shown an event that is such.
func (w teller) await(t *testing.T, such func(history.Event) bool) {
	t.Helper()
	for {
		select {
		case events := <-w.looks:
			if slices.ContainsFunc(events, such) {
				return
			}
		case <-t.Context().Done():
			t.Fatal("the run shows no such event")
		}
	}
}

// TestStepsFromOutside: the main story, whose steps come one after the other; client1's
// lease runs out while the run waits for a step, which the run shows. The history is the
// same as that of a run that has the steps from the beginning.
func TestStepsFromOutside(t *testing.T) {
	t.Parallel()
	s := mainStory(t)
	v := &s.Variants[1]
	listed, err := run(t, t.Context(), s, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newTeller()
	var events []history.Event
	done := make(chan struct{})
	go func() {
		defer close(done)
		events, err = lab.Run(t.Context(), s, v, w.options())
	}()
	for _, step := range v.Steps {
		if step.String() == "etcd: await expiry of client1" {
			w.await(t, func(e history.Event) bool { return e.Kind == history.KindEnded && e.Cause == history.CauseExpired })
			continue // it has run out, and no step has waited for it
		}
		<-w.asks
		select {
		case w.steps <- step:
		case <-done:
			t.Fatal(err)
		}
	}
	<-w.asks
	close(w.steps)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	told := strings.NewReplacer("client1 lost\n", "") // which may come when the story is over
	if got, want := told.Replace(sketch(events)), told.Replace(sketch(listed)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if problems := history.Check(events); problems != nil {
		t.Error(&history.InvalidError{Problems: problems})
	}
}

// TestRunThatWaitsEnds: a run that waits for a step ends with its context.
func TestRunThatWaitsEnds(t *testing.T) {
	t.Parallel()
	s := mainStory(t)
	stopped := errors.New("stopped by the test")
	w := newTeller()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-w.asks; cancel(stopped) }()
	events, err := lab.Run(ctx, s, &s.Variants[0], w.options())
	if !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	if last := events[len(events)-1]; last.Kind != history.KindError {
		t.Errorf("its history ends with %v", last)
	}
}

// TestWorldIsReady: a run whose steps come from outside has the networks that its
// variant's steps have no need of.
func TestWorldIsReady(t *testing.T) {
	t.Parallel()
	s := mainStory(t)
	told := language.Tell(s, &s.Variants[0])
	w := newTeller()
	w.steps = make(chan scenario.Step, 10)
	for _, line := range []string{
		"client1: lock", "gcsim: partition client1 from etcd", "etcd: await expiry of client1", "gcsim: heal client1",
		"client2: lock", "gcsim: delay client2 to storage", "client2: send write key0=late", "gcsim: deliver client2",
	} {
		step, err := told.Take(line)
		if err != nil {
			t.Fatal(err)
		}
		w.steps <- step
	}
	close(w.steps)
	events, err := lab.Run(t.Context(), s, &s.Variants[0], w.options())
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, sketch(events), "client1 network partition", "etcd ended expired client1", "client1 network heal", "client2 network deliver", "storage applied write key0=late")
}

// TestNothingToFinish: a client that does not hold the lock looks, and begins nothing. That
// it is to finish is noted, and the run goes on.
func TestNothingToFinish(t *testing.T) {
	t.Parallel()
	events := played(t, `
title: Nothing to finish
clients:
  client1: {lock: /lock}
steps:
  - client1: begin write key0=a
  - client1: finish
  - client1: begin write key0=b
  - client1: send finish
  - client1: lock
  - client1: begin write key0=c
  - client1: finish
variants:
  fenced: {expect: {verdict: safe, final: {key0: c}}}
`)
	wantAll(t, sketch(events), "client1 note\nclient1 invoke lock", "storage applied write key0=c")
	notes := 0
	for _, e := range events {
		if e.Text == "client1 has nothing to finish: it began nothing" {
			notes++
		}
	}
	if notes != 2 {
		t.Errorf("it is noted %d times, want 2", notes)
	}
}
