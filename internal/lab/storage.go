package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// storage is what the lock is to protect: a process that keeps its address and
// its files when it is started again, or one that is not ours.
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

// storageAttempts is for how many ports startStorage goes on when others are
// faster.
const storageAttempts = 5

func (r *run) inService() bool { return r.variant.World.Storage.In == scenario.InService }

// checks reports whether each write is checked, wherever the data lies.
func (r *run) checks() bool {
	if !r.inService() {
		return r.variant.World.Storage.Fencing != scenario.FencingOff
	}
	compares := r.service.Compares
	for _, client := range r.variant.Clients {
		if !compares(client) {
			return false
		}
	}
	return true
}

func (r *run) startStorage(ctx context.Context, o Options) error {
	if f := r.usersStorage(o); f != nil {
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
	line, journal, err := firstLine(ctx, p)
	if err != nil {
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
	case l.Refused != "":
		e.Kind = history.KindRefused
	case l.Duplicate:
		e.Kind = history.KindDuplicate
	}
	return e
}
