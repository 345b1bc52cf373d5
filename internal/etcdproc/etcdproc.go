// Package etcdproc runs an etcd cluster of a process per member, so that a member
// can be killed, and can stand still and go on, which one in this process cannot.
package etcdproc

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/etcdcmd"
	"github.com/fencelab/fencelab/internal/etcdserver"
	"github.com/fencelab/fencelab/internal/proc"
)

// Cluster is members that each are a process.
type Cluster struct {
	Members []*Member
}

// Member is one of a Cluster. It keeps its addresses and its directory while its
// process is gone.
type Member struct {
	group  *proc.Group
	config etcdserver.Config

	mu      sync.Mutex
	process *proc.Process // the latest
}

// Start starts n members in g, whose program must have the command "etcd" of
// package etcdcmd, and returns when all serve clients. They have the settings of
// c but for names and addresses, which they are given; their data is below c.Dir,
// or the group's directory where that is empty. They end with the group.
func Start(ctx context.Context, g *proc.Group, n int, c etcdserver.Config) (*Cluster, error) {
	c.Dir = cmp.Or(c.Dir, g.Dir)
	return etcdserver.OnFreePorts(n, c, func(configs []etcdserver.Config) (*Cluster, error) {
		cluster := new(Cluster)
		for _, config := range configs {
			m := &Member{group: g, config: config}
			if err := m.start(); err != nil {
				return nil, errors.Join(err, cluster.kill())
			}
			cluster.Members = append(cluster.Members, m)
		}
		for _, m := range cluster.Members {
			if err := m.await(ctx); err != nil {
				return nil, errors.Join(err, cluster.kill())
			}
		}
		return cluster, nil
	})
}

func (c *Cluster) kill() error {
	var errs []error
	for _, m := range c.Members {
		select {
		case <-m.Process().Done():
		default:
			errs = append(errs, m.Process().Kill())
		}
	}
	return errors.Join(errs...)
}

// Endpoints are the addresses for clients of all members.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.Endpoint())
	}
	return all
}

// statusTimeout is for how long a member that stands still is asked who leads.
const statusTimeout = 300 * time.Millisecond

// Leader asks the members until one that answers leads, and returns it. A leader
// that stands still does not answer: then it is the next one.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if m := c.leader(ctx, client); m != nil {
			return m, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("no member leads: %w", context.Cause(ctx))
		}
	}
}

// leader is nil where no member says that it leads in the latest term.
func (c *Cluster) leader(ctx context.Context, client *clientv3.Client) *Member {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	said := make([]*clientv3.StatusResponse, len(c.Members))
	var wg sync.WaitGroup
	for i, m := range c.Members {
		wg.Go(func() {
			if s, err := client.Status(ctx, m.Endpoint()); err == nil {
				said[i] = s
			}
		})
	}
	wg.Wait()
	var leader *Member
	var term uint64
	for i, s := range said {
		if s == nil || s.RaftTerm < term {
			continue
		}
		if s.RaftTerm > term {
			leader, term = nil, s.RaftTerm
		}
		if s.Leader == s.Header.MemberId {
			leader = c.Members[i]
		}
	}
	return leader
}

// Name is the member's name in the cluster.
func (m *Member) Name() string { return m.config.Name }

// Endpoint is the address for clients.
func (m *Member) Endpoint() string { return m.config.ClientAddr }

// Process is the member's process, to be killed, paused and resumed. After Restart
// it is another one.
func (m *Member) Process() *proc.Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

// Restart starts a process for the member, whose last one must have ended, on its
// data and addresses, and returns when it serves clients. That takes most of the
// members: to bring back several that are missing for it, restart them at the same
// time.
func (m *Member) Restart(ctx context.Context) error {
	select {
	case <-m.Process().Done():
	default:
		return fmt.Errorf("%s still runs: kill it first", m.Name())
	}
	if err := m.start(); err != nil {
		return err
	}
	return m.await(ctx)
}

func (m *Member) start() error {
	p, err := m.group.Start(m.config.Name, nil, etcdcmd.Args(m.config)...)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process = p
	return nil
}

// await reads the line with the address, by which the process says that it serves.
func (m *Member) await(ctx context.Context) error {
	type result struct {
		line string
		err  error
	}
	p := m.Process()
	read := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(p.Stdout).ReadString('\n')
		read <- result{strings.TrimSpace(line), err}
	}()
	select {
	case r := <-read:
		switch {
		case errors.Is(r.err, io.EOF):
			return p.Ended()
		case r.err != nil:
			return fmt.Errorf("%s: %w", p.Name, r.err)
		case r.line != m.Endpoint():
			return fmt.Errorf("%s serves on %q, want %s", p.Name, r.line, m.Endpoint())
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", p.Name, context.Cause(ctx))
	}
}
