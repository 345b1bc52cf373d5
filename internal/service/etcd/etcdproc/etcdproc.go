// Package etcdproc runs an etcd cluster of a process per member, so that a member
// can be killed, and can stand still and go on, which one in this process cannot.
package etcdproc

import (
	"bufio"
	"cmp"
	"context"
	"net/http"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

type Cluster struct {
	Members []*Member

	peers *peers // nil where they reach each other by no network of ours
}

// Member is one of a Cluster. It keeps its addresses and its directory while its process is gone. Its
// Restart takes most of the members: to bring back several that are missing for it, restart them at
// the same time.
type Member struct {
	proc.Node
	config etcdserver.Config
}

// Start starts n members in g, whose program must have the command "etcd" of package etcdcmd, and
// returns when all serve clients. They have the settings of c but for names and addresses, which they
// are given; their data is below c.Dir, or the group's directory where that is empty. They end with
// the group. A lease of one second is one of a second, however many members there are.
func Start(ctx context.Context, g *proc.Group, n int, c etcdserver.Config) (*Cluster, error) {
	return begin(ctx, g, n, c, func(*Cluster) error { return nil })
}

// begin is Start with members that are connected before they start.
func begin(ctx context.Context, g *proc.Group, n int, c etcdserver.Config, connect func(*Cluster) error) (*Cluster, error) {
	c.Dir = cmp.Or(c.Dir, g.Dir)
	return etcdserver.OnFreePorts(n, c, func(configs []etcdserver.Config) (*Cluster, error) {
		cluster := new(Cluster)
		for _, config := range configs {
			m := &Member{Node: proc.Node{Group: g, Name: config.Name, Addr: config.ClientAddr}, config: config}
			m.Serves = m.serves
			cluster.Members = append(cluster.Members, m)
		}
		if err := connect(cluster); err != nil {
			return nil, err
		}
		for _, m := range cluster.Members {
			m.Args = etcdcmd.Args(m.config)
		}
		return cluster, cluster.start(ctx)
	})
}

// start starts all members and returns when they serve; else none runs. A new member asks the others
// whether it is one already, and waits a second for each that listens and does not answer yet. So they
// come one by one.
func (c *Cluster) start(ctx context.Context) error {
	return proc.StartAll(ctx, c.Members, func(i int) error {
		if m := c.Members[i]; i < len(c.Members)-1 {
			return m.Process().Await(ctx, m.servesPeers)
		}
		return nil
	})
}

// Endpoints are the addresses for clients of all members.
func (c *Cluster) Endpoints() []string { return proc.Endpoints(c.Members) }

// servesPeers asks once whether the member answers other members.
func (m *Member) servesPeers(ctx context.Context) error {
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
}

// serves reads the line with the address, by which the process says that it serves.
func (m *Member) serves(ctx context.Context) error {
	stdout := m.Process().Stdout
	defer context.AfterFunc(ctx, func() { stdout.Close() })()
	_, err := bufio.NewReader(stdout).ReadString('\n')
	return err
}
