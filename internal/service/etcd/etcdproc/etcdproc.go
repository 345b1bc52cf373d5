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
	"net/http"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// Cluster is members that each are a process.
type Cluster struct {
	Members []*Member

	peers *peers // nil where they reach each other by no network of ours
}

// Member is one of a Cluster. It keeps its addresses and its directory while its
// process is gone.
type Member struct {
	proc.Node

	group  *proc.Group
	config etcdserver.Config
}

// Start starts n members in g, whose program must have the command "etcd" of
// package etcdcmd, and returns when all serve clients. They have the settings of
// c but for names and addresses, which they are given; their data is below c.Dir,
// or the group's directory where that is empty. They end with the group. A lease of
// one second is one of a second, however many members there are.
func Start(ctx context.Context, g *proc.Group, n int, c etcdserver.Config) (*Cluster, error) {
	return begin(ctx, g, n, c, func(*Cluster) error { return nil })
}

// begin is Start with members that are connected before they start.
func begin(ctx context.Context, g *proc.Group, n int, c etcdserver.Config, connect func(*Cluster) error) (*Cluster, error) {
	c.Dir = cmp.Or(c.Dir, g.Dir)
	return etcdserver.OnFreePorts(n, c, func(configs []etcdserver.Config) (*Cluster, error) {
		cluster := new(Cluster)
		for _, config := range configs {
			cluster.Members = append(cluster.Members, &Member{group: g, config: config})
		}
		if err := connect(cluster); err != nil {
			return nil, err
		}
		return cluster, cluster.start(ctx)
	})
}

// start starts all members and returns when they serve; else none runs.
func (c *Cluster) start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, proc.KillAll(c.Members))
		}
	}()
	for i, m := range c.Members {
		if err := m.start(); err != nil {
			return err
		}
		if i == len(c.Members)-1 {
			break
		}
		// A new member asks the others whether it is one already, and waits a second
		// for each that listens and does not answer yet. So they come one by one.
		if err := m.awaitPeer(ctx); err != nil {
			return err
		}
	}
	for _, m := range c.Members {
		if err := m.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Endpoints are the addresses for clients of all members.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.Endpoint())
	}
	return all
}

// Name is the member's name in the cluster.
func (m *Member) Name() string { return m.config.Name }

// Endpoint is the address for clients.
func (m *Member) Endpoint() string { return m.config.ClientAddr }

// Restart starts a process for the member, whose last one must have ended, on its
// data and addresses, and returns when it serves clients. That takes most of the
// members: to bring back several that are missing for it, restart them at the same
// time.
func (m *Member) Restart(ctx context.Context) error {
	if err := m.start(); err != nil {
		return err
	}
	return m.await(ctx)
}

func (m *Member) start() error {
	return m.Begin(m.group, m.config.Name, nil, etcdcmd.Args(m.config)...)
}

// awaitPeer returns when the member answers other members.
func (m *Member) awaitPeer(ctx context.Context) error {
	return m.Process().Await(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.config.PeerAddr+"/version", nil)
		if err != nil {
			return err
		}
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// await reads the line with the address, by which the process says that it serves.
func (m *Member) await(ctx context.Context) error {
	p := m.Process()
	defer context.AfterFunc(ctx, func() { p.Stdout.Close() })()
	line, err := bufio.NewReader(p.Stdout).ReadString('\n')
	switch line = strings.TrimSpace(line); {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", p.Name, context.Cause(ctx))
	case errors.Is(err, io.EOF):
		return p.Ended()
	case err != nil:
		return fmt.Errorf("%s: %w", p.Name, err)
	case line != m.Endpoint():
		return fmt.Errorf("%s serves on %q, want %s", p.Name, line, m.Endpoint())
	}
	return nil
}
