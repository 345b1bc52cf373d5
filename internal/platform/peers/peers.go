// Package peers is a network between nodes that find each other at an address each, by which any of them can be
// isolated from the others.
package peers

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Node is one of the network. It finds the others by IPv4.
type Node interface {
	comparable
	Runs() bool
	Process() *proc.Process
}

// Network is that between some nodes. Clients have no part in it.
type Network[N Node] struct {
	nodes    []N
	links    map[way[N]]*network.Link // from where each node is found by the others, to the node
	isolated map[N]bool
}

// way is the direction in which one node makes connections to another one.
type way[N Node] struct{ from, to N }

// New makes the network of nodes that serve each other at these addresses, before they start. found are the addresses
// at which they have to find each other instead. The network ends with g.
func New[N Node](g *proc.Group, nodes []N, addrs []string) (n *Network[N], found []string, err error) {
	n = &Network[N]{nodes: nodes, links: make(map[way[N]]*network.Link), isolated: make(map[N]bool)}
	for i, to := range nodes {
		for _, from := range nodes {
			l := network.NewTaking(addrs[i])
			g.After(l.Close)
			n.links[way[N]{from, to}] = l
		}
		l, err := network.Listen(func(conn net.Conn) { n.lead(conn, to) })
		if err != nil {
			return nil, nil, fmt.Errorf("the network to %s: %w", addrs[i], err)
		}
		g.After(l.Close)
		found = append(found, l.Addr())
	}
	return n, found, nil
}

// lead has a connection to a node go by the link from the one that made it.
func (n *Network[N]) lead(conn net.Conn, to N) {
	for _, from := range n.nodes {
		if from.Runs() && dialed(from.Process().PID(), conn) {
			n.links[way[N]{from, to}].Take(conn)
			return
		}
	}
	conn.Close() // it is no node's, or that has ended
}

// Isolate has nothing pass between a node and the others, either way. Clients reach it as before.
func (n *Network[N]) Isolate(one N) {
	n.isolated[one] = true
	for _, other := range n.nodes {
		for _, l := range n.between(one, other) {
			l.Tx.Shut()
			l.Rx.Shut()
		}
	}
}

// Heal ends that: the node and the others that are not isolated reach each other. What they sent meanwhile is lost.
func (n *Network[N]) Heal(one N) {
	delete(n.isolated, one)
	for _, other := range n.nodes {
		if n.Isolated(other) {
			continue
		}
		for _, l := range n.between(one, other) {
			l.Cut()
			l.Tx.Open()
			l.Rx.Open()
		}
	}
}

// Isolated reports whether a node is isolated. Without a network none is.
func (n *Network[N]) Isolated(one N) bool { return n != nil && n.isolated[one] }

// between are the links of two nodes, both ways.
func (n *Network[N]) between(one, other N) []*network.Link {
	return []*network.Link{n.links[way[N]{one, other}], n.links[way[N]{other, one}]}
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
