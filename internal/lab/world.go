package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/etcdproc"
	"github.com/fencelab/fencelab/internal/etcdserver"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
)

// world is the processes of a run, and the networks between them.
type world struct {
	group     *proc.Group
	etcd      *etcdproc.Cluster // nil: one that was there already
	endpoints []string          // etcd's
	prefix    string            // of the locks' names, where others may use that etcd as well
	storage   *storage
	clients   map[string]*proc.Process
	links     map[string]*links
	observer  *watch
	stopped   *etcdproc.Member // that led
	readers   sync.WaitGroup

	mu    sync.Mutex
	meant map[*proc.Process]bool // whose end the story wants
}

func newWorld(exe string) (*world, error) {
	group, err := proc.NewGroup(exe)
	if err != nil {
		return nil, err
	}
	return &world{
		group: group, clients: make(map[string]*proc.Process), links: make(map[string]*links),
		meant: make(map[*proc.Process]bool),
	}, nil
}

// leaveTimeout is for how long leave tries.
const leaveTimeout = 5 * time.Second

// leave ends the leases of the run's locks in an etcd that goes on without it. What
// it cannot end runs out.
func (w *world) leave() {
	if w.prefix == "" || w.observer == nil {
		return
	}
	for _, p := range w.clients {
		_ = p.Kill() // one that has ended is as good
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	left, err := w.observer.client.Get(ctx, w.prefix, clientv3.WithPrefix())
	if err != nil {
		return
	}
	for _, kv := range left.Kvs {
		_, _ = w.observer.client.Revoke(ctx, clientv3.LeaseID(kv.Lease))
	}
}

func (w *world) close() error {
	err := w.group.Close()
	for _, n := range w.links {
		n.close()
	}
	w.readers.Wait()
	return err
}

// mean says that the story ends a process.
func (w *world) mean(p *proc.Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meant[p] = true
}

func (w *world) isMeant(p *proc.Process) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meant[p]
}

// startServers starts etcd and the storage on free ports: side by side, unless
// the storage has to know where etcd is.
func (r *run) startServers(ctx context.Context, given []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startDeadline, fmt.Errorf("it is not ready after %v", startDeadline))
	defer cancel()
	etcd := make(chan error, 1)
	go func() { etcd <- r.startEtcd(ctx, given) }()
	var err error
	if r.variant.World.Storage.Bound == scenario.BoundIssuer {
		err, etcd = <-etcd, nil
	}
	if err == nil {
		err = r.startStorage(ctx)
	}
	if etcd != nil {
		err = errors.Join(err, <-etcd)
	}
	return err
}

func (r *run) startEtcd(ctx context.Context, given []string) error {
	w := r.world
	if len(given) > 0 {
		w.endpoints = given
		return nil
	}
	var err error
	if w.etcd, err = etcdproc.Start(ctx, w.group, r.variant.World.Etcd.Members, etcdserver.Config{}); err != nil {
		return err
	}
	w.endpoints = w.etcd.Endpoints()
	r.guardEtcd()
	return nil
}

// guardEtcd has the end of a member's process, as it is now, end the run.
func (r *run) guardEtcd() {
	for _, m := range r.world.etcd.Members {
		p := m.Process()
		r.world.readers.Go(func() {
			r.fail(p, p.Ended())
		})
	}
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
// if it was not meant to be.
func (r *run) readLines(p *proc.Process, in io.Reader, line func([]byte) error) {
	br := bufio.NewReader(in)
	for {
		b, err := br.ReadBytes('\n')
		if err == nil {
			err = line(b)
		}
		switch {
		case errors.Is(err, io.EOF):
			// What it began to say without an end was cut off by its death.
			r.fail(p, p.Ended())
			return
		case err != nil:
			r.fail(p, fmt.Errorf("%s says %q: %w", p.Name, b, err))
			return
		}
	}
}
