package lab

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/program"
)

// UsersStorage is a storage that is not ours. It is there already, or a command runs it.
type UsersStorage struct {
	URL     string // "": Command runs it
	Command string // as package program has it
	// Serial says that it serves one connection at a time.
	Serial bool
	// Contrib says that it speaks contrib/lock's POST /, as program.Gate has it.
	Contrib bool
}

// String is its name in errors and in histories.
func (f UsersStorage) String() string {
	if f.Command != "" {
		return fmt.Sprintf("the storage's command %q", f.Command)
	}
	return "the storage at " + f.URL
}

type theirs struct {
	UsersStorage
	gate    *program.Gate
	command *program.Server // nil: it is there already
}

// usersStorage is the storage that is not ours; nil: it is.
func (r *run) usersStorage(o Options) *UsersStorage {
	if command := r.variant.World.Storage.Command; o.UsersStorage == nil && command != "" {
		return &UsersStorage{Command: command}
	}
	return o.UsersStorage
}

// startUsers makes the gate before a storage that is not ours, and starts what a command
// runs. In a storage that goes on without the run, its keys and scopes lie below a prefix of
// the run's own.
func (r *run) startUsers(ctx context.Context, f UsersStorage) error {
	gate, err := program.NewGate(f.String())
	if err != nil {
		return err
	}
	t := &theirs{UsersStorage: f, gate: gate}
	r.world.storage = &storage{addr: gate.Addr(), theirs: t}
	gate.Tell = func(e history.Event) { r.Tell(e) }
	gate.Fail, gate.Whole, gate.Contrib = r.failUsers, f.Serial, f.Contrib
	gate.Within = r.patience * 2 / 3 // so that what is waited for is told before the patience ends
	if f.Command == "" {
		gate.Prefix = "gcsim-" + strings.ToLower(rand.Text()[:8]) + "-"
		gate.Serve(f.URL)
		gate.Open()
		return nil
	}
	gate.Open()
	if t.command, err = program.New(r.world.group, history.LaneStorage, f.Command, filepath.Join(r.world.group.Dir, "storage")); err != nil {
		return err
	}
	return r.launchUsers(ctx)
}

// launchUsers starts the command's process, whose end is the end of its account.
func (r *run) launchUsers(ctx context.Context) error {
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

func (r *run) settleUsers(ctx context.Context) error {
	s := r.world.storage
	if s == nil || s.theirs == nil {
		return nil
	}
	return r.Meanwhile(ctx, s.theirs.String()+" to answer", s.theirs.gate.Settle)
}

// endDelay is for how long a storage that takes no connections may take to end.
const endDelay = time.Second

// failUsers ends the run by what the storage did. That its process has ended says more.
func (r *run) failUsers(err error) {
	t := r.world.storage.theirs
	if t.command != nil {
		if ended := t.command.Ended(time.After(endDelay)); ended != nil {
			err = ended
		}
	}
	r.Fail(nil, err)
}
