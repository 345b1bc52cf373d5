package lab

import (
	"errors"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/storagecmd"
)

type world struct {
	group   *proc.Group
	storage *storage
	clients map[string]*clientProcess
	links   map[string]*links
	readers sync.WaitGroup

	ends sync.Map // processes whose end the story wants
}

func newWorld(exe string) (*world, error) {
	group, err := proc.NewGroup(exe)
	if err != nil {
		return nil, err
	}
	return &world{group: group, clients: make(map[string]*clientProcess), links: make(map[string]*links)}, nil
}

func (w *world) close() error {
	err := w.group.Close()
	for _, n := range w.links {
		n.close()
	}
	if w.storage != nil {
		w.storage.close()
	}
	w.readers.Wait()
	return err
}

// readLines hands over each line of a process. Its end ends the run, unless it was meant, and so does a line
// that is refused. A line is gone when the next one is read.
func (r *run) readLines(p *proc.Process, in io.Reader, line func([]byte) error) {
	err := p.ReadLines(in, line)
	if refused := new(proc.LineError); errors.As(err, &refused) {
		p = nil
	}
	r.Fail(p, err)
}

// Roles are the commands that the lab starts processes with, which the program Options.Exe must have.
func Roles(services []*service.Service) []*cobra.Command {
	roles := []*cobra.Command{storagecmd.Command(), clientcmd.Command(services), proc.Janitor()}
	for _, role := range roles {
		role.Hidden = true
	}
	for _, s := range services {
		if s.Command != nil {
			roles = append(roles, s.Command())
		}
	}
	return roles
}
