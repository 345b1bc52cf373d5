// Package zkproc runs a ZooKeeper of one or several members, each of which is a process of Java.
package zkproc

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
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

// Cluster is members that vote, and the one that does not.
type Cluster struct {
	Members  []*Member
	Observer *Observer // nil: there is none
}

// Member is one of a Cluster: zookeeper1 and so on. It keeps its address and its directory while its
// process is gone. Its Restart takes most of the members: to bring back several that are missing for
// it, restart them at the same time.
type Member struct {
	proc.Node
	dir string
}

// Config is what members have in common.
type Config struct {
	Members    int           // how many there are that vote
	Observer   bool          // whether there is one more, which does not
	ReadOnly   bool          // whether a member that has lost the others goes on with reads
	Containers time.Duration // between two looks for empty containers, which the leader removes; 0: ZooKeeper's default, a minute
}

// Start starts members in g, whose program must have Command, and returns when all serve.
// Found must have found what they need. They end with the group.
//
// They grant sessions of 500 ms to 60 s. A session that nobody renews ends up to 100 ms late.
func Start(ctx context.Context, g *proc.Group, config Config) (*Cluster, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("zookeeper is missing: %s", bring)
	}
	n := config.Members
	if config.Observer {
		n++
	}
	free, err := ports.Free(3 * n)
	if err != nil {
		return nil, err
	}
	clients, peers := free[:n], free[n:]
	c := new(Cluster)
	var all []*Member
	for i, addr := range clients {
		name := fmt.Sprint("zookeeper", i+1)
		m := &Member{Node: proc.Node{Group: g, Name: name, Addr: addr}, dir: filepath.Join(g.Dir, name)}
		m.Serves = m.serves
		m.Args = slices.Concat([]string{Arg, maven.Java()}, maven.ServerOptions("64m", m.dir, m.Name), options,
			config.options(), []string{"-cp", filepath.Join(Libraries.Found(), "*"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", m.config()})
		known, own := peers, ""
		if i == config.Members {
			if c.Observer, known, err = observe(m, peers); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			own = observes(config.ReadOnly)
		}
		servers, err := ensemble(known, config.Members)
		if config.ReadOnly {
			own += readsAlone
		}
		if err == nil {
			err = m.configure(i+1, servers+own)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, m)
	}
	c.Members = all[:config.Members]
	if err := proc.StartAll(ctx, all, func(int) error { return nil }); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Cluster) Endpoints() []string { return proc.Endpoints(c.Members) }

// settings are those of all members.
//
//go:embed zoo.cfg
var settings string

// configure writes the files of a member's directory. id is its number, from 1. more are settings that not all members have.
func (m *Member) configure(id int, more string) error {
	_, port, err := net.SplitHostPort(m.Addr)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%sdataDir=%s\nclientPortAddress=127.0.0.1\nclientPort=%s\n%s", settings, m.dir, port, more)
	return errors.Join(
		os.Mkdir(m.dir, 0o700),
		os.WriteFile(filepath.Join(m.dir, "myid"), fmt.Append(nil, id), 0o600),
		os.WriteFile(m.config(), []byte(text), 0o600))
}

// ensemble are the settings that name all members. peers are the addresses by which they reach each other, two for
// each of them. Those after so many have no vote.
func ensemble(peers []string, voters int) (string, error) {
	if len(peers) == 2 {
		return "", nil // it is alone
	}
	text := "standaloneEnabled=false\n" // else one that votes would have nobody beside it
	for i := 0; i < len(peers); i += 2 {
		_, election, err := net.SplitHostPort(peers[i+1])
		if err != nil {
			return "", err
		}
		role := ""
		if i/2 >= voters {
			role = ":observer"
		}
		text += fmt.Sprintf("server.%d=%s:%s%s\n", i/2+1, peers[i], election, role)
	}
	return text, nil
}

func (m *Member) config() string { return filepath.Join(m.dir, "zoo.cfg") }

// options are those of a member: its log, on standard error, has warnings and errors. What was
// committed is with the kernel, and so survives any end of the process, but it is not synced. A
// member that looks for a leader asks the others every 200 ms.
var options = []string{
	"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dzookeeper.jmx.log4j.disable=true",
	"-Dzookeeper.forceSync=no", "-Dzookeeper.fastleader.maxNotificationInterval=200",
}

// readsAlone has a member that has lost the others give sessions, which are local ones: they are its own, and are made
// known to the others when they need an ephemeral node.
const readsAlone = "localSessionsEnabled=true\nlocalSessionsUpgradingEnabled=true\n"

func (c Config) options() []string {
	var more []string
	if c.ReadOnly {
		more = append(more, "-Dreadonlymode.enabled=true")
	}
	if c.Containers != 0 {
		more = append(more, fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", c.Containers.Milliseconds()))
	}
	return more
}

func (m *Member) serves(ctx context.Context) error {
	_, err := m.mode(ctx)
	return err
}

// What a member that serves says of itself.
const (
	modeOf     = "Mode: "
	modeLeader = "leader"
	modeAlone  = "standalone"
	modeReads  = "read-only"
)

const (
	askDeadline = time.Second           // for an answer
	askAgain    = 10 * time.Millisecond // after answers that name no leader
)

// mode asks a member once as what it serves. An error says that it does not serve.
func (m *Member) mode(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	said, err := m.ask(ctx, "srvr")
	if err != nil {
		return "", fmt.Errorf("ask %s whether it serves: %w", m.Name, err)
	}
	if _, mode, serves := strings.Cut(said, modeOf); serves {
		mode, _, _ = strings.Cut(mode, "\n")
		return mode, nil
	}
	return "", fmt.Errorf("%s does not serve: it says %q", m.Name, said)
}

// ask sends a command of four letters, and returns the answer.
func (m *Member) ask(ctx context.Context, command string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Addr)
	if err != nil {
		return "", err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	if _, err := io.WriteString(conn, command); err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	said, err := io.ReadAll(conn)
	if err != nil {
		return "", errors.Join(err, ctx.Err())
	}
	return string(said), nil
}

// Leader asks the members until one of them alone says that it leads and most of them
// serve, and returns it. So it is never one that stands still: after a leader was paused or
// killed, Leader is over when the next one has been elected. A member that is alone leads.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	for {
		if m := c.elected(ctx); m != nil {
			return m, nil
		}
		if !sleep.For(ctx, askAgain) {
			return nil, fmt.Errorf("no member of ZooKeeper leads: %w", context.Cause(ctx))
		}
	}
}

// elected asks each member once; nil: there is no leader.
func (c *Cluster) elected(ctx context.Context) (leader *Member) {
	modes := make([]string, len(c.Members))
	var asking sync.WaitGroup
	for i, m := range c.Members {
		asking.Go(func() { modes[i], _ = m.mode(ctx) })
	}
	asking.Wait()
	serving := 0
	for i, mode := range modes {
		switch mode {
		case "":
			continue
		case modeLeader, modeAlone:
			if leader != nil {
				return nil // one of them does not know yet
			}
			leader = c.Members[i]
		}
		serving++
	}
	if serving <= len(c.Members)/2 {
		return nil
	}
	return leader
}

// Requests asks a member that is alone how many requests it has had so far in each session
// that has an ephemeral node now, and in the others that are named. The numbers have the
// sessions' pings in them, and the requests that opened them.
//
// Requests returns when all who wait for a lock do nothing else: each but the first of the
// ephemeral nodes below the same node has its session's watch.
func (m *Member) Requests(ctx context.Context, others map[string]int) (map[string]int, error) {
	for {
		owners, settled, err := m.waiting(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask %s for its nodes: %w", m.Name, errors.Join(err, context.Cause(ctx)))
		}
		if settled {
			return m.received(ctx, owners, others)
		}
		if !sleep.For(ctx, askAgain) {
			return nil, fmt.Errorf("not all sessions that wait watch a node: %w", context.Cause(ctx))
		}
	}
}

// waiting is which sessions own the ephemeral nodes, by the nodes' paths, and whether as many
// watch one as must wait.
func (m *Member) waiting(ctx context.Context) (owners map[string]string, settled bool, err error) {
	said, err := m.ask(ctx, "dump")
	if err != nil {
		return nil, false, err
	}
	owners, locks := make(map[string]string), make(map[string]bool)
	for session, node := range below(said) {
		if strings.HasPrefix(node, "/") {
			owners[node], locks[path.Dir(node)] = strings.TrimSuffix(session, ":"), true
		}
	}
	if said, err = m.ask(ctx, "wchp"); err != nil {
		return nil, false, err
	}
	return owners, watches(said, owners) == len(owners)-len(locks), nil
}

// watches reads the answer to wchp. It counts the sessions that watch one of some nodes.
func watches(said string, of map[string]string) (n int) {
	for node := range below(said) {
		if of[node] != "" {
			n++
		}
	}
	return n
}

// below are the lines of an answer that begin with a tab, each with the line above that does not.
func below(said string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		head := ""
		for line := range strings.Lines(said) {
			line = strings.TrimSuffix(line, "\n")
			if text, is := strings.CutPrefix(line, "\t"); !is {
				head = line
			} else if !yield(head, text) {
				return
			}
		}
	}
}

// connection is one in the answer to cons.
var connection = regexp.MustCompile(`recved=(\d+),sent=\d+,sid=(0x[0-9a-f]+)`)

// received is how many requests the member has had in the sessions of owners and others.
func (m *Member) received(ctx context.Context, owners map[string]string, others map[string]int) (map[string]int, error) {
	said, err := m.ask(ctx, "cons")
	if err != nil {
		return nil, fmt.Errorf("ask %s for its connections: %w", m.Name, err)
	}
	all := make(map[string]int)
	for _, found := range connection.FindAllStringSubmatch(said, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return nil, fmt.Errorf("ask %s for its connections: %w", m.Name, err)
		}
		all[found[2]] = n
	}
	some := make(map[string]int)
	for _, session := range owners {
		some[session] = all[session]
	}
	for session := range others {
		some[session] = all[session]
	}
	return some, nil
}
