package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fencelab/fencelab/internal/platform/proc"
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

// readLines hands over each line of a process until its end, which ends the run
// if it was not meant to be. So does a line that is refused. A line is gone when the next
// one is read.
func (r *run) readLines(p *proc.Process, in io.Reader, line func([]byte) error) {
	err := p.ReadLines(in, line)
	if refused := new(proc.LineError); errors.As(err, &refused) {
		p = nil
	}
	r.Fail(p, err)
}
