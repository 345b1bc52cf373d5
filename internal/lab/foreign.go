package lab

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/foreign"
	"github.com/fencelab/fencelab/internal/history"
)

// Foreign is a storage that is not ours. It is there already, or a command runs it.
type Foreign struct {
	URL     string // "": Command runs it
	Command string // as package foreign has it
	// Serial says that it serves one connection at a time.
	Serial bool
	// Contrib says that it speaks contrib/lock's POST /, as foreign.Gate has it.
	Contrib bool
}

// String is its name in errors and in histories.
func (f Foreign) String() string {
	if f.Command != "" {
		return fmt.Sprintf("the storage's command %q", f.Command)
	}
	return "the storage at " + f.URL
}

// theirs is the storage of a run that is not ours.
type theirs struct {
	Foreign
	gate    *foreign.Gate
	command *foreign.Server // nil: it is there already
}

// foreign is the storage that is not ours; nil: it is.
func (r *run) foreign(o Options) *Foreign {
	if command := r.variant.World.Storage.Command; o.Foreign == nil && command != "" {
		return &Foreign{Command: command}
	}
	return o.Foreign
}

// startForeign makes the gate before a storage that is not ours, and starts what a command
// runs. In a storage that goes on without the run, its keys and scopes lie below a prefix of
// the run's own.
func (r *run) startForeign(ctx context.Context, f Foreign) error {
	gate, err := foreign.NewGate(f.String())
	if err != nil {
		return err
	}
	t := &theirs{Foreign: f, gate: gate}
	r.world.storage = &storage{addr: gate.Addr(), theirs: t}
	gate.Tell = func(e history.Event) { r.Tell(e) }
	gate.Fail, gate.Whole, gate.Contrib = r.failForeign, f.Serial, f.Contrib
	gate.Within = r.patience * 2 / 3 // so that what is waited for is told before the patience ends
	if f.Command == "" {
		gate.Prefix = "gcsim-" + strings.ToLower(rand.Text()[:8]) + "-"
		gate.Serve(f.URL)
		gate.Open()
		return nil
	}
	gate.Open()
	if t.command, err = foreign.New(r.world.group, history.LaneStorage, f.Command, filepath.Join(r.world.group.Dir, "storage")); err != nil {
		return err
	}
	return r.launchForeign(ctx)
}

// launchForeign starts the command's process, whose end is the end of its account.
func (r *run) launchForeign(ctx context.Context) error {
	s := r.world.storage
	t := s.theirs
	if err := t.command.Start(ctx); err != nil {
		return err
	}
	p, gone := t.command.Process(), make(chan struct{})
	s.process, s.gone = p, gone
	t.gate.Serve(t.command.URL())
	r.Go(func() {
		defer close(gone)
		select {
		case <-p.Done():
		case <-r.over:
			return
		}
		_ = t.gate.Settle(context.WithoutCancel(ctx)) // it ends with the gate at the latest
		r.Fail(p, p.Ended())
	})
	return nil
}

// settleForeign awaits that the storage has answered, or has had its time to.
func (r *run) settleForeign(ctx context.Context) error {
	s := r.world.storage
	if s == nil || s.theirs == nil {
		return nil
	}
	return r.Meanwhile(ctx, s.theirs.String()+" to answer", s.theirs.gate.Settle)
}

// endDelay is for how long a storage that takes no connections may take to end.
const endDelay = time.Second

// failForeign ends the run by what the storage did. That its process has ended says more.
func (r *run) failForeign(err error) {
	t := r.world.storage.theirs
	if t.command != nil {
		if ended := t.command.Ended(time.After(endDelay)); ended != nil {
			err = ended
		}
	}
	r.Fail(nil, err)
}
