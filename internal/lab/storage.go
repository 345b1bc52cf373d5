package lab

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// storage is what the lock protects: a process that keeps address and files, or one that is not ours.
type storage struct {
	addr    string
	args    []string
	process *proc.Process // nil: it is there already
	gone    chan struct{} // closed when all that the process told was taken in
	theirs  *theirs       // nil: it is ours
}

func (s *storage) url() string { return "http://" + s.addr }

// close breaks off what is under way to one that is not ours.
func (s *storage) close() {
	if s.theirs != nil {
		s.theirs.gate.Close()
	}
}

func (s *storage) kill() error {
	if s.theirs != nil {
		s.theirs.gate.Leave()
		return s.theirs.command.Kill()
	}
	return s.process.Kill()
}

// storageAttempts is for how many ports startStorage goes on when others are faster.
const storageAttempts = 5

func (r *run) inService() bool { return r.variant.World.Storage.In == scenario.InService }

// checks reports whether each write is checked, wherever the data lies.
func (r *run) checks() bool {
	if !r.inService() {
		fencing := r.variant.World.Storage.Fencing
		return fencing != scenario.FencingOff && fencing != scenario.FencingObserve
	}
	for _, client := range r.variant.Clients {
		if !r.service.Compares(client) {
			return false
		}
	}
	return true
}

func (r *run) startStorage(ctx context.Context) error {
	if f := r.usersStorage(); f != nil {
		return r.startUsers(ctx, *f)
	}
	v := r.variant.World.Storage
	args := []string{"storage", "--journal", "-", "--fencing", v.Fencing, "--engine", v.Engine}
	if v.Engine == scenario.EngineBolt {
		args = append(args, "--data", filepath.Join(r.world.group.Dir, "storage"))
	}
	if v.Bound == scenario.BoundIssuer {
		args = append(args, r.service.IssuerArgs(r.servers)...)
	}
	r.world.storage = &storage{args: args}
	var last error
	for range storageAttempts {
		addrs, err := ports.Free(1)
		if err != nil {
			return err
		}
		r.world.storage.addr = addrs[0]
		last = r.launchStorage(ctx)
		if last == nil || !strings.Contains(last.Error(), syscall.EADDRINUSE.Error()) {
			return last
		}
	}
	return last
}

func (r *run) launchStorage(ctx context.Context) error {
	s := r.world.storage
	if s.theirs != nil {
		return r.launchUsers(ctx)
	}
	p, err := r.world.group.Start("storage", nil, append(s.args, "--listen", s.addr)...)
	if err != nil {
		return err
	}
	s.process, s.gone = p, make(chan struct{})
	defer context.AfterFunc(ctx, func() { _ = p.Kill() })() // one that is not ready in time
	journal := bufio.NewReader(p.Stdout)
	line, err := journal.ReadBytes('\n')
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", p.Name, context.Cause(ctx))
	case errors.Is(err, io.EOF):
		return p.Ended()
	case err != nil:
		return err
	}
	var first kv.Line
	if err := json.Unmarshal(line, &first); err != nil || first.Listen != s.addr {
		return fmt.Errorf("storage: the first line of its journal is %q, want its address, %s", line, s.addr)
	}
	r.world.readers.Go(func() {
		defer close(s.gone)
		r.readLines(p, journal, func(b []byte) error {
			var line kv.Line
			if err := json.Unmarshal(b, &line); err != nil {
				return err
			}
			r.Tell(storageEvent(line))
			return nil
		})
	})
	return nil
}

func storageEvent(l kv.Line) history.Event {
	e := history.Event{
		At: time.Duration(l.Time.UnixNano()), Lane: history.LaneStorage, Kind: history.KindApplied,
		Op: l.Op, Request: l.ID, Index: l.Index, Scope: l.Scope, Token: l.Token, Mark: l.Mark, Sequence: l.Sequence, Mode: l.Mode,
		Key: l.Key, Value: l.Value, Missing: l.Missing, Reason: string(l.Refused), Text: l.Error,
	}
	switch {
	case l.Would != "":
		e.Text = fmt.Sprintf("would be refused: %s", l.Would)
	case l.Refused != "":
		e.Kind = history.KindRefused
	case l.Duplicate:
		e.Kind = history.KindDuplicate
	}
	return e
}

// UsersStorage is a storage that is not ours. It is there already, or a command runs it.
type UsersStorage struct {
	URL     string // "": Command runs it
	Command string // as package program has it
	Serial  bool   // it serves one connection at a time
	Contrib bool   // it speaks contrib/lock's POST /, as program.Gate has it
}

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
func (r *run) usersStorage() *UsersStorage {
	if command := r.variant.World.Storage.Command; r.UsersStorage == nil && command != "" {
		return &UsersStorage{Command: command}
	}
	return r.UsersStorage
}

// startUsers makes the gate before a storage that is not ours, and starts its command. In a storage that goes on
// without the run, keys and scopes lie below a prefix of the run's own.
func (r *run) startUsers(ctx context.Context, f UsersStorage) error {
	gate, err := program.NewGate(f.String())
	if err != nil {
		return err
	}
	t := &theirs{UsersStorage: f, gate: gate}
	r.world.storage = &storage{addr: gate.Addr(), theirs: t}
	gate.Tell = func(e history.Event) { r.Tell(e) }
	gate.Fail, gate.Whole, gate.Contrib = r.failUsers, f.Serial, f.Contrib
	gate.Within = r.Patience * 2 / 3 // so that what is waited for is told before the patience ends
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
