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

// place is where a storage is: already there, or run by commands. Two URLs or commands work on the same data.
type place struct {
	given    []string // URLs of one that is there already
	commands []string
	group    *proc.Group // of those that commands run; nil: none do
	begun    int         // how many directories there were
	storages []*program.Server
}

func (p *place) runs() bool { return len(p.commands) > 0 }

func (p *place) String() string { return strings.Join(slices.Concat(p.given, p.commands), " and ") }

// args are those of gcsim that name it, for a shell.
func (p *place) args() string {
	args := slices.Clone(p.given)
	for _, command := range p.commands {
		args = append(args, "--command '"+strings.ReplaceAll(command, "'", `'\''`)+"'")
	}
	return strings.Join(args, " ")
}

// hasDir reports whether a storage is told where its files can lie.
func (p *place) hasDir() bool {
	return slices.ContainsFunc(p.commands, func(command string) bool { return strings.Contains(command, "{dir}") })
}

// fresh makes a storage of commands empty: it ends, and another one starts in a directory of its own.
func (p *place) fresh(ctx context.Context) error {
	if err := p.kill(); err != nil {
		return err
	}
	p.begun++
	p.storages = nil
	for i, command := range p.commands {
		dir := filepath.Join(p.group.Dir, fmt.Sprintf("data-%d", p.begun))
		s, err := program.New(p.group, fmt.Sprintf("storage %d", i+1), command, dir)
		if err != nil {
			return err
		}
		p.storages = append(p.storages, s)
	}
	return p.start(ctx)
}

// restart ends the storage as kill -9 does, and starts it again on what it has kept.
func (p *place) restart(ctx context.Context) error { return errors.Join(p.kill(), p.start(ctx)) }

func (p *place) start(ctx context.Context) error {
	for _, s := range p.storages {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) kill() error {
	var errs []error
	for _, s := range p.storages {
		errs = append(errs, s.Kill())
	}
	return errors.Join(errs...)
}

func (p *place) end() error {
	if p.group == nil {
		return nil
	}
	return errors.Join(p.kill(), p.group.Close())
}

func (p *place) urls() []string {
	urls := slices.Clone(p.given)
	for _, s := range p.storages {
		urls = append(urls, s.URL())
	}
	return urls
}

// ended says how a process of the storage that does not answer has ended; nil: none that is known.
func (p *place) ended() error {
	soon := time.After(time.Second) // for so long one that does not answer may take to end
	for _, s := range p.storages {
		if err := s.Ended(soon); err != nil {
			return err
		}
	}
	return nil
}
