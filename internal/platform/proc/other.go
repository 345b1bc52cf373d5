package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// Other is a process that is not this one's child.
type Other struct {
	PID int
	of  *os.Process
}

// Find finds a process by its id. Until Close, signals go to it and to no other that may get the same id.
func Find(pid int) (*Other, error) {
	if err := kernel.Missing(); err != nil {
		return nil, err
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.Signal(0)) // nobody gets it
	}
	if errors.Is(err, os.ErrProcessDone) {
		err = syscall.ESRCH
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return &Other{pid, p}, nil
}

// Close forgets the process.
func (f *Other) Close() error { return f.of.Release() }

// Pause stops the process and returns when all its threads stand still. Where
// that does not come to be, it lets it go on again.
func (f *Other) Pause(ctx context.Context) error {
	if err := f.signal(kernel.Stop); err != nil {
		return err
	}
	err := awaitStill(ctx, func() (bool, error) {
		still, err := stopped(f.PID)
		if err != nil {
			err = fmt.Errorf("process %d has ended: %w", f.PID, err)
		}
		return still, err
	})
	if err != nil && ctx.Err() != nil {
		_ = f.Resume()
	}
	return err
}

// awaitStill returns when still says yes, or fails, or ctx is done. The kernel tells of a stop only to
// the parent, so this looks again and again.
func awaitStill(ctx context.Context, still func() (bool, error)) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if yes, err := still(); yes || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Resume lets it go on.
func (f *Other) Resume() error { return f.signal(kernel.Continue) }

// Kill kills the process. It does not wait for the end.
func (f *Other) Kill() error { return f.signal(syscall.SIGKILL) }

func (f *Other) signal(s syscall.Signal) error {
	if err := f.of.Signal(s); err != nil {
		return fmt.Errorf("send %v to process %d: %w", s, f.PID, err)
	}
	return nil
}

// stopped reports whether all threads of a process stand still; see proc(5).
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	if len(threads) == 0 {
		return false, os.ErrProcessDone
	}
	for _, thread := range threads {
		b, err := os.ReadFile(thread)
		if err != nil {
			return false, nil // a thread that has just ended
		}
		_, state, _ := strings.Cut(string(b), ") ")
		if !strings.HasPrefix(state, "T") && !strings.HasPrefix(state, "t") {
			if strings.HasPrefix(state, "Z") {
				return false, os.ErrProcessDone
			}
			return false, nil
		}
	}
	return true, nil
}
