// Package hzproc runs a Hazelcast whose members are a process of Java each, and tell of their
// locks. Their program is Member in internal/clients/java/hazelcast.
package hzproc

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program as a member.
const Arg = "hazelcast-node"

func Command() *cobra.Command { return proc.Command(Arg, "Be a member of Hazelcast", "hazelcast") }

// Cluster is the members of a Hazelcast. Its CP subsystem has all of them.
type Cluster struct{ Members []*Member }

// Member is one of a Cluster: hazelcast1 and so on. It keeps its addresses while its process is gone.
type Member struct {
	proc.Node
	Account string // the address at which it tells of its locks
}

// Start starts n members in g, whose program must have Command, and returns when all serve.
// Found must have found what they need. They end with the group.
//
// A session of a client ends so long after its last heartbeat as session says, in whole seconds
// from 2, or up to a second later. Nothing is kept on disk.
func Start(ctx context.Context, g *proc.Group, n int, session time.Duration) (*Cluster, error) {
	if where, bring := java.Found(); where == "" {
		return nil, fmt.Errorf("hazelcast is missing: %s", bring)
	}
	free, err := ports.Free(2 * n)
	if err != nil {
		return nil, err
	}
	c := new(Cluster)
	for i, account := range free[n:] {
		m := &Member{Node: proc.Node{Group: g, Name: fmt.Sprint("hazelcast", i+1)}, Account: account}
		m.Serves = m.serves
		m.Args = slices.Concat([]string{Arg, maven.Java()}, maven.ServerOptions("96m", g.Dir, m.Name), java.Start(java.Member),
			[]string{fmt.Sprint(int(session.Seconds())), portOf(account), portOf(free[i])})
		for _, other := range slices.Concat(free[:i], free[i+1:n]) {
			m.Args = append(m.Args, portOf(other))
		}
		c.Members = append(c.Members, m)
	}
	// The others join the first one at once; members that begin at the same time take seconds to
	// agree who is the first.
	err = proc.StartAll(ctx, c.Members, func(i int) error {
		if i > 0 {
			return nil
		}
		return c.Members[0].Process().Await(ctx, c.Members[0].joined)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Restart starts a process for a member, whose last one must have ended, and returns when it
// has joined the members that run. It has kept nothing: it is of the CP subsystem only where all
// members are started again, and serves when all have been.
func (m *Member) Restart(ctx context.Context) error {
	if err := m.Begin(); err != nil {
		return err
	}
	return m.Process().Await(ctx, m.joined)
}

// Accounts are the addresses at which the members tell.
func (c *Cluster) Accounts() (all []string) {
	for _, m := range c.Members {
		all = append(all, m.Account)
	}
	return all
}

// portOf is the port of an address. Package ports has given the address, so it can be read.
func portOf(addr string) string { return fmt.Sprint(netip.MustParseAddrPort(addr).Port()) }

// joined asks the member once whether it has joined the others.
func (m *Member) joined(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Account)
	if err != nil {
		return err
	}
	return conn.Close()
}

// serves awaits the first line of the member's account, which it says when it serves.
func (m *Member) serves(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Account)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	_, err = bufio.NewReader(conn).ReadString('\n')
	return err
}
