package proc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestWaits: a process that takes long to serve is told of, once, with what it lacks; and the error
// says why it was not waited for longer.
func TestWaits(t *testing.T) {
	before := slowStart
	slowStart = time.Millisecond
	defer func() { slowStart = before }()
	g := janitorLooks(t)
	defer g.Close()
	var told []string
	g.Waits = func(text string) { told = append(told, text) }
	p, err := g.StartCommand("silent", nil, []string{"sleep", "1000"})
	if err != nil {
		t.Fatal(err)
	}
	late := errors.New("it does not listen")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	err = p.Await(ctx, func(context.Context) error { return errors.New("connection refused") })
	if !errors.Is(err, late) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v, want what it lacks and the bound", err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "silent (sleep 1000) does not serve yet: connection refused; it has ") {
		t.Errorf("told %q, want one text", told)
	}
}
