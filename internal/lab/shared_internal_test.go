package lab

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// silent is a service whose servers never serve; begun is sent the end of the time that they have.
func silent(begun chan<- time.Time) *service.Service {
	return &service.Service{Launch: func(ctx context.Context, _ *proc.Group, _ setting.Values) (service.Launched, error) {
		end, _ := ctx.Deadline()
		begun <- end
		<-ctx.Done()
		return service.Launched{}, context.Cause(ctx)
	}}
}

// TestSharedServersThatNeverServe: they have a bounded time, and nobody waits for them at the end.
func TestSharedServersThatNeverServe(t *testing.T) {
	s, begun := &Shared{Exe: os.Args[0]}, make(chan time.Time, 1)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.launch(ctx, silent(begun), nil)
		left <- err
	}()
	if end := <-begun; end.IsZero() || time.Until(end) > startDeadline {
		t.Errorf("they have time until %v", end)
	}
	cancel()
	if err := <-left; err == nil {
		t.Error("the run had servers")
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(startDeadline / 2):
		t.Fatal("it still waits")
	}
}
