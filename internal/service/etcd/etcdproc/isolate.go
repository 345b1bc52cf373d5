package etcdproc

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// peers is the network between the members of a cluster.
type peers struct {
	links    map[way]*network.Link // from where each member is found by the others, to the member
	isolated map[*Member]bool
}

// way is that of the connections which one member makes to another.
type way struct{ from, to *Member }

// StartLinked is Start with a network between the members, by which each of them can be isolated from the others.
func StartLinked(ctx context.Context, g *proc.Group, n int, c etcdserver.Config) (*Cluster, error) {
	return begin(ctx, g, n, c, func(cluster *Cluster) error {
		cluster.peers = &peers{links: make(map[way]*network.Link), isolated: make(map[*Member]bool)}
		return cluster.link()
	})
}

// link has the members find each other by the network between them.
func (c *Cluster) link() error {
	for _, from := range c.Members {
		for _, to := range c.Members {
			l := network.NewTaking(to.config.PeerAddr)
			to.Group.After(l.Close)
			c.peers.links[way{from, to}] = l
		}
	}
	configs := make([]etcdserver.Config, len(c.Members))
	for i, to := range c.Members {
		l, err := network.Listen(func(conn net.Conn) { c.lead(conn, to) })
		if err != nil {
			return fmt.Errorf("the network of %s: %w", to.Name, err)
		}
		to.Group.After(l.Close)
		configs[i] = to.config
		configs[i].Advertised = l.Addr()
	}
	etcdserver.Join(configs)
	for i, m := range c.Members {
		m.config = configs[i]
	}
	return nil
}

// lead has a connection to a member go by the link from the one that made it.
func (c *Cluster) lead(conn net.Conn, to *Member) {
	for _, from := range c.Members {
		if from.Runs() && dialed(from.Process().PID(), conn) {
			c.peers.links[way{from, to}].Take(conn)
			return
		}
	}
	conn.Close() // it is no member's, or that has ended
}

// Isolate has nothing pass between a member and the others, either way. Clients reach it
// as before. The cluster must be one of StartLinked.
func (c *Cluster) Isolate(m *Member) {
	c.peers.isolated[m] = true
	for _, other := range c.Members {
		for _, l := range c.peers.between(m, other) {
			l.Tx.Shut()
			l.Rx.Shut()
		}
	}
}

// Heal ends that: the member and the others that are not isolated reach each other. What they sent meanwhile is lost.
func (c *Cluster) Heal(m *Member) {
	delete(c.peers.isolated, m)
	for _, other := range c.Members {
		if c.Isolated(other) {
			continue
		}
		for _, l := range c.peers.between(m, other) {
			l.Cut()
			l.Tx.Open()
			l.Rx.Open()
		}
	}
}

func (c *Cluster) Isolated(m *Member) bool { return c.peers != nil && c.peers.isolated[m] }

// between are the links of two members, both ways.
func (p *peers) between(one, other *Member) []*network.Link {
	return []*network.Link{p.links[way{one, other}], p.links[way{other, one}]}
}

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

// dialed reports whether a process of this machine made a connection, of which this is
// the end that was accepted; by proc(5).
func dialed(pid int, accepted net.Conn) bool {
	socket := socketOf(accepted.RemoteAddr(), accepted.LocalAddr())
	if socket == "" {
		return false
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return err == nil && slices.ContainsFunc(files, func(f string) bool {
		name, err := os.Readlink(f)
		return err == nil && name == socket
	})
}

// socketOf names the socket with these two addresses as the kernel does among a
// process's files; "" where there is none.
func socketOf(local, remote net.Addr) string {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return ""
	}
	ends := []string{inTable(local), inTable(remote)}
	for line := range strings.Lines(string(table)) {
		const inode = 9
		f := strings.Fields(line)
		if len(f) > inode && slices.Equal(f[1:3], ends) {
			return "socket:[" + f[inode] + "]"
		}
	}
	return ""
}

// inTable is an address as /proc/net/tcp has it.
func inTable(addr net.Addr) string {
	a := addr.(*net.TCPAddr)
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
