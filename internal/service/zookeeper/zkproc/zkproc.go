// Package zkproc runs a ZooKeeper of one or several members, each of which is a process of Java.
package zkproc

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program as a member.
const Arg = "zookeeper-node"

func Command() *cobra.Command { return proc.Command(Arg, "Be a member of ZooKeeper", "zookeeper") }

//go:embed pom.xml
var pom []byte

// Libraries are ZooKeeper and what it needs.
var Libraries = maven.Libraries{Name: "zookeeper", POM: pom}

const GetJars = "gcsim services get zookeeper"

// Found says where ZooKeeper is, "" where a part of what it needs is missing, and then bring
// is the command that brings that part.
func Found() (where, bring string) { return Libraries.FoundToRun(GetJars) }

type Cluster struct{ Members []*Member }

// Member is one of a Cluster: zookeeper1 and so on. It keeps its address and its directory while its
// process is gone. Its Restart takes most of the members: to bring back several that are missing for
// it, restart them at the same time.
type Member struct {
	proc.Node
	dir string
}

// Start starts n members in g, whose program must have Command, and returns when all serve.
// Found must have found what they need. They end with the group.
//
// They grant sessions of 500 ms to 60 s. A session that nobody renews ends up to 100 ms late.
func Start(ctx context.Context, g *proc.Group, n int) (*Cluster, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("zookeeper is missing: %s", bring)
	}
	free, err := ports.Free(3 * n)
	if err != nil {
		return nil, err
	}
	clients, peers := free[:n], free[n:]
	c := new(Cluster)
	for i, addr := range clients {
		name := fmt.Sprint("zookeeper", i+1)
		m := &Member{Node: proc.Node{Group: g, Name: name, Addr: addr}, dir: filepath.Join(g.Dir, name)}
		m.Serves = m.serves
		m.Args = slices.Concat([]string{Arg, maven.Java()}, maven.ServerOptions("64m", m.dir, m.Name), options,
			[]string{"-cp", filepath.Join(Libraries.Found(), "*"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", m.config()})
		if err := m.configure(i+1, peers); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.Members = append(c.Members, m)
	}
	if err := proc.StartAll(ctx, c.Members, func(int) error { return nil }); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) Endpoints() []string { return proc.Endpoints(c.Members) }

// settings are those of all members.
//
//go:embed zoo.cfg
var settings string

// configure writes the files of a member's directory. id is its number, from 1. peers are
// the addresses by which the members reach each other, two for each of them.
func (m *Member) configure(id int, peers []string) error {
	_, port, err := net.SplitHostPort(m.Addr)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%sdataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%s\n", settings, m.dir, port)
	if len(peers) > 2 { // else it is alone
		for i := 0; i < len(peers); i += 2 {
			_, election, err := net.SplitHostPort(peers[i+1])
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, "server.%d=%s:%s\n", i/2+1, peers[i], election)
		}
	}
	return errors.Join(
		os.Mkdir(m.dir, 0o700),
		os.WriteFile(filepath.Join(m.dir, "myid"), fmt.Append(nil, id), 0o600),
		os.WriteFile(m.config(), []byte(text.String()), 0o600))
}

func (m *Member) config() string { return filepath.Join(m.dir, "zoo.cfg") }

// options are those of a member: its log, on standard error, has warnings and errors. What was
// committed is with the kernel, and so survives any end of the process, but it is not synced. A
// member that looks for a leader asks the others every 200 ms.
var options = []string{
	"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.jmx.log4j.disable=true",
	"-Dzookeeper.forceSync=no", "-Dzookeeper.fastleader.maxNotificationInterval=200",
}

func (m *Member) serves(ctx context.Context) error {
	_, err := m.mode(ctx)
	return err
}
