package proc_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestAwait: it asks until the process serves, and says why it never will.
func TestAwait(t *testing.T) {
	g := newGroup(t)
	defer g.Close()
	refused := errors.New("connection refused")

	p, err := g.Start("child", nil, "echo")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	err = p.Await(t.Context(), func(context.Context) error {
		if asked++; asked < 3 {
			return refused
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Errorf("got %v after it was asked %d times, want nil after 3", err, asked)
	}

	ctx, cancel := context.WithCancel(t.Context())
	err = p.Await(ctx, func(context.Context) error {
		cancel()
		return refused
	})
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "child does not serve") {
		t.Errorf("out of time: %v, want that child does not serve, and why", err)
	}
	if s := state(t, p.PID()); s != "gone" {
		t.Errorf("a child that does not serve is in state %s, want it killed", s)
	}

	err = p.Await(t.Context(), func(context.Context) error { return refused })
	if err == nil || !strings.Contains(err.Error(), "child ended") {
		t.Errorf("of a child that has ended: %v", err)
	}
}

// TestAwaitEnd: by itself, by a failure, and never.
func TestAwaitEnd(t *testing.T) {
	g := newGroup(t)
	defer g.Close()

	p, err := g.Start("janitor", nil, "janitor", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p.Stdin.Close()
	if err := p.AwaitEnd(t.Context()); err != nil {
		t.Errorf("it ended well: %v", err)
	}

	p, err = g.Start("child", nil, "echo")
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, p.Stdout)
	p.Stdin.Close()
	if err := p.AwaitEnd(t.Context()); err == nil || !strings.Contains(err.Error(), "no more lines") {
		t.Errorf("it failed: %v, want what it last said", err)
	}

	p, err = g.Start("child", nil, "echo")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.AwaitEnd(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("out of time: %v", err)
	}
	if s := state(t, p.PID()); s != "gone" {
		t.Errorf("a child that does not end is in state %s, want it killed", s)
	}
}
