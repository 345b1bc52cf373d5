package etcdproc

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/peers"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// StartLinked is Start with a network between the members, by which each of them can be isolated from the others.
func StartLinked(ctx context.Context, g *proc.Group, n int, c etcdserver.Config) (*Cluster, error) {
	return begin(ctx, g, n, c, func(cluster *Cluster) error { return cluster.link(g) })
}

// link has the members find each other by the network between them.
func (c *Cluster) link(g *proc.Group) error {
	configs, addrs := make([]etcdserver.Config, len(c.Members)), make([]string, len(c.Members))
	for i, m := range c.Members {
		configs[i], addrs[i] = m.config, m.config.PeerAddr
	}
	n, found, err := peers.New(g, c.Members, addrs)
	if err != nil {
		return err
	}
	c.peers = n
	for i, addr := range found {
		configs[i].Advertised = addr
	}
	etcdserver.Join(configs)
	for i, m := range c.Members {
		m.config = configs[i]
	}
	return nil
}

// Isolate has nothing pass between a member and the others, either way. Clients reach it
// as before. The cluster must be one of StartLinked.
func (c *Cluster) Isolate(m *Member) { c.peers.Isolate(m) }

// Heal ends that: the member and the others that are not isolated reach each other. What they sent meanwhile is lost.
func (c *Cluster) Heal(m *Member) { c.peers.Heal(m) }

func (c *Cluster) Isolated(m *Member) bool { return c.peers.Isolated(m) }

// AwaitCaughtUp returns when a member has all that was acknowledged by then.
func (m *Member) AwaitCaughtUp(ctx context.Context) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		_, err := client.Get(ctx, "\x00", clientv3.WithKeysOnly()) // linearizable
		if err == nil {
			return nil
		}
		if !sleep.For(ctx, statusPeriod) { // it may have no leader yet
			return fmt.Errorf("%s has not caught up: %w", m.Name, context.Cause(ctx))
		}
	}
}
