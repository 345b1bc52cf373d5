package lab

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

// silent is a service whose servers never serve.
type silent struct {
	service.Shared
	begun chan time.Time // the end of the time that they have
}

func (s silent) Launch(ctx context.Context, _ *proc.Group, _ setting.Values) (service.Launched, error) {
	end, _ := ctx.Deadline()
	s.begun <- end
	<-ctx.Done()
	return service.Launched{}, context.Cause(ctx)
}

// TestSharedServersThatNeverServe: they have a bounded time, and nobody waits for them at the end.
func TestSharedServersThatNeverServe(t *testing.T) {
	s, of := &Shared{Exe: os.Args[0]}, silent{begun: make(chan time.Time, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.launch(ctx, "silent", of, nil)
		left <- err
	}()
	if end := <-of.begun; end.IsZero() || time.Until(end) > startDeadline {
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
	case <-time.After(20 * time.Second):
		t.Fatal("it still waits")
	}
}
