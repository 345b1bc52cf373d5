package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
)

// world is the processes of a run.
type world struct {
	group      *proc.Group
	etcd       string // address
	storageURL string
	procs      map[string]*proc.Process // by lane
	journal    io.Reader                // the storage's, after its first line
	readers    sync.WaitGroup
}

func newWorld(exe string) (*world, error) {
	group, err := proc.NewGroup(exe)
	if err != nil {
		return nil, err
	}
	return &world{group: group, procs: make(map[string]*proc.Process)}, nil
}

func (w *world) close() error {
	err := w.group.Close()
	w.readers.Wait()
	return err
}

// ended adds to a failure what its process last said.
func (w *world) ended(f failure) error {
	if p := w.procs[f.name]; p != nil && p.Said() != "" {
		return fmt.Errorf("%s: %w; it last said:\n%s", f.name, f.err, p.Said())
	}
	return fmt.Errorf("%s: %w", f.name, f.err)
}

// startServers starts etcd and the storage, side by side, on free ports.
func (w *world) startServers(ctx context.Context, v *scenario.Variant) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startDeadline, fmt.Errorf("it is not ready after %v", startDeadline))
	defer cancel()
	etcd, err := w.group.Start("etcd", nil, "etcd", "--listen", "127.0.0.1:0", "--dir", filepath.Join(w.group.Dir, "etcd"))
	if err != nil {
		return err
	}
	w.procs[history.LaneEtcd] = etcd
	args := []string{"storage", "--listen", "127.0.0.1:0", "--journal", "-", "--fencing", v.World.Storage.Fencing, "--engine", v.World.Storage.Engine}
	if v.World.Storage.Engine == "bolt" {
		args = append(args, "--data", filepath.Join(w.group.Dir, "storage"))
	}
	storage, err := w.group.Start("storage", nil, args...)
	if err != nil {
		return err
	}
	w.procs[history.LaneStorage] = storage
	line, _, err := firstLine(ctx, etcd)
	if err != nil {
		return err
	}
	w.etcd = strings.TrimSpace(string(line))
	line, w.journal, err = firstLine(ctx, storage)
	if err != nil {
		return err
	}
	var first kv.Line
	if err := json.Unmarshal(line, &first); err != nil || first.Listen == "" {
		return fmt.Errorf("storage: the first line of its journal is %q, want its address", line)
	}
	w.storageURL = "http://" + first.Listen
	return nil
}

// firstLine awaits the line by which a process says that it is ready.
func firstLine(ctx context.Context, p *proc.Process) ([]byte, *bufio.Reader, error) {
	type result struct {
		line []byte
		err  error
	}
	br := bufio.NewReader(p.Stdout)
	read := make(chan result, 1)
	go func() {
		line, err := br.ReadBytes('\n')
		read <- result{line, err}
	}()
	select {
	case r := <-read:
		if errors.Is(r.err, io.EOF) {
			return nil, nil, p.Ended()
		}
		return r.line, br, r.err
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("%s: %w", p.Name, context.Cause(ctx))
	}
}

// startClients starts the observer and the clients, and awaits that they are
// ready.
func (w *world) startClients(ctx context.Context, r *run) error {
	etcd := w.procs[history.LaneEtcd]
	w.readers.Go(func() {
		<-etcd.Done()
		r.fail(history.LaneEtcd, errors.New("its process has ended"))
	})
	w.readers.Go(func() {
		r.readLines(history.LaneStorage, w.journal, func(b []byte) error {
			var line kv.Line
			if err := json.Unmarshal(b, &line); err != nil {
				return err
			}
			r.tell(storageEvent(line))
			return nil
		})
	})
	locks := make(map[string]bool)
	for _, c := range r.variant.Clients {
		locks[c.Lock] = true
	}
	if err := w.observe(ctx, slices.Sorted(maps.Keys(locks)), r); err != nil {
		return err
	}
	for _, name := range r.scenario.Clients {
		if err := w.startClient(r, name); err != nil {
			return err
		}
	}
	return r.await(ctx, "the clients", startDeadline, func() (bool, error) {
		for _, name := range r.scenario.Clients {
			if r.state.client(name).notes == 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

func (w *world) startClient(r *run, name string) error {
	c := r.variant.Clients[name]
	var env []string
	for _, step := range r.variant.Steps {
		if step.Client == name && step.Verb == scenario.Load {
			env = gcEnv
		}
	}
	p, err := w.group.Start(name, env, "client", "agent", "--name", name, "--endpoints", w.etcd,
		"--storage", w.storageURL, "--lock", c.Lock, "--ttl", c.TTL.String(), "--token", c.Token)
	if err != nil {
		return err
	}
	w.procs[name] = p
	w.readers.Go(func() {
		r.readLines(name, p.Stdout, func(b []byte) error {
			var e history.Event
			if err := json.Unmarshal(b, &e); err != nil {
				return err
			}
			r.tell(e)
			return nil
		})
	})
	return nil
}

// readLines hands over each line of in until its end, which ends the run if it
// was not meant to be.
func (r *run) readLines(name string, in io.Reader, line func([]byte) error) {
	br := bufio.NewReader(in)
	for {
		b, err := br.ReadBytes('\n')
		if err == nil {
			err = line(b)
		}
		switch {
		case errors.Is(err, io.EOF):
			// What it began to say without an end was cut off by its death.
			r.fail(name, errors.New("its process has ended"))
			return
		case err != nil:
			r.fail(name, fmt.Errorf("its output: line %q: %w", b, err))
			return
		}
	}
}

func storageEvent(l kv.Line) history.Event {
	e := history.Event{
		At: time.Duration(l.Time.UnixNano()), Lane: history.LaneStorage, Kind: history.KindApplied,
		Op: l.Op, Request: l.ID, Index: l.Index, Scope: l.Scope, Token: l.Token, Mark: l.Mark, Sequence: l.Sequence,
		Key: l.Key, Value: l.Value, Missing: l.Missing, Reason: string(l.Refused), Text: l.Error,
	}
	if l.Refused != "" {
		e.Kind = history.KindRefused
	}
	return e
}
