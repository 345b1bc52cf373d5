package main

import (
	"errors"
	"io"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/cli"
)

// TestElsewhere: where there is no Linux, commands that make runs say so at once, and the
// others work.
func TestElsewhere(t *testing.T) {
	missing := errors.New("no Linux here")
	for _, args := range [][]string{{}, {"run", "gc-pause"}, {"pause", "--pid", "4711"}, {"learn", "1"}, {"serve"}, {"lane", "etcd", "--at", "/tmp/x"}} {
		root := commandWith(missing)
		root.SetArgs(args)
		var exit *cli.ExitError
		if err := root.Execute(); !errors.As(err, &exit) || exit.Code != exitCannot || !errors.Is(err, missing) {
			t.Errorf("gcsim %q: %v", args, err)
		}
	}
	for _, args := range [][]string{{"list"}, {"explain", "gc-pause"}, {"schema"}, {"services"}} {
		root := commandWith(missing)
		root.SetArgs(args)
		root.SetOut(io.Discard)
		if err := root.Execute(); err != nil {
			t.Errorf("gcsim %q: %v", args, err)
		}
	}
}
