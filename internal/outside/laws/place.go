package laws

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// endDelay is for how long a storage that does not answer may take to end.
const endDelay = time.Second

// place is where a storage is: one that is there already, or one that commands run. It has a
// second URL where two processes work on the same data.
type place interface {
	// fresh makes the storage empty, where it can.
	fresh(ctx context.Context) error
	// urls returns one or two.
	urls() []string
	// ended says how a process of the storage that does not answer has ended; nil: none
	// that is known.
	ended() error
	// args are those of gcsim that name it, for a shell.
	args() string
	String() string
}

// there is a storage that is there already.
type there []string

func (t there) fresh(context.Context) error { return nil }
func (t there) urls() []string              { return t }
func (t there) ended() error                { return nil }
func (t there) args() string                { return strings.Join(t, " ") }
func (t there) String() string              { return strings.Join(t, " and ") }

// run is a storage that commands run.
type run struct {
	group    *proc.Group
	commands []string
	begun    int // how many directories there were
	storages []*program.Server
}

func (r *run) String() string { return strings.Join(r.commands, " and ") }

func (r *run) args() string {
	var args []string
	for _, command := range r.commands {
		args = append(args, "--command '"+strings.ReplaceAll(command, "'", `'\''`)+"'")
	}
	return strings.Join(args, " ")
}

// hasDir reports whether a storage is told where its files can lie.
func (r *run) hasDir() bool {
	return slices.ContainsFunc(r.commands, func(command string) bool { return strings.Contains(command, "{dir}") })
}

// fresh ends the storage and starts another one in a directory of its own.
func (r *run) fresh(ctx context.Context) error {
	if err := r.kill(); err != nil {
		return err
	}
	r.begun++
	r.storages = nil
	dir := filepath.Join(r.group.Dir, fmt.Sprintf("data-%d", r.begun))
	for i, command := range r.commands {
		s, err := program.New(r.group, fmt.Sprintf("storage %d", i+1), command, dir)
		if err != nil {
			return err
		}
		r.storages = append(r.storages, s)
	}
	return r.start(ctx)
}

// restart ends the storage as kill -9 does, and starts it again on what it has kept.
func (r *run) restart(ctx context.Context) error { return errors.Join(r.kill(), r.start(ctx)) }

func (r *run) start(ctx context.Context) error {
	for _, s := range r.storages {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) kill() error {
	var errs []error
	for _, s := range r.storages {
		errs = append(errs, s.Kill())
	}
	return errors.Join(errs...)
}

func (r *run) urls() (urls []string) {
	for _, s := range r.storages {
		urls = append(urls, s.URL())
	}
	return urls
}

func (r *run) ended() error {
	soon := time.After(endDelay)
	for _, s := range r.storages {
		if err := s.Ended(soon); err != nil {
			return err
		}
	}
	return nil
}
