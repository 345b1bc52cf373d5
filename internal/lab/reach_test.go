package lab_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/lab"
)

// TestReachEnds: nobody waits for a service that takes connections and says nothing.
func TestReachEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	if err := lab.Reach(ctx, []string{silent.Addr().String()}); !errors.Is(err, late) {
		t.Errorf("got %v, want %v", err, late)
	}
}
