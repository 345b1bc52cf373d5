// Package etcdproc runs an etcd cluster of a process per member, so that a member
// can be killed, and can stand still and go on, which one in this process cannot.
package etcdproc

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/peers"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

type Cluster struct {
	Members []*Member

	peers *peers.Network[*Member] // nil where they reach each other by no network of ours
}

// Member is one of a Cluster. It keeps its addresses and its directory while its process is gone. Its Restart takes
// most of the members: to bring back several that are missing for it, restart them at the same time.
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
		if !ordered(cluster.Members) {
			return nil, etcdserver.ErrOtherPorts
		}
		for _, m := range cluster.Members {
			m.Args = etcdcmd.Args(m.config)
		}
		return cluster, cluster.start(ctx)
	})
}

// start starts all members and returns when they serve; else none runs. A new member asks the others whether it is
// one already, and waits a second for each that listens and does not answer yet. So they come one by one.
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

// statusPeriod is how long a member is left alone between two questions.
const statusPeriod = 10 * time.Millisecond

// Leader asks the members until one answers that it leads and most of them, itself included, are in its term, and
// returns it. So it is never one that stands still, nor one that did and does not know yet that another was elected
// meanwhile: after a leader was paused, Leader is over when the next has been elected.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var askers sync.WaitGroup
	defer askers.Wait()
	asking, stop := context.WithCancel(ctx)
	defer stop()
	// Each member is asked by itself: one that stands still holds up no other.
	answers := make(chan answer)
	for i, m := range c.Members {
		askers.Go(func() {
			for asking.Err() == nil {
				status, err := client.Status(asking, m.Endpoint())
				if err == nil {
					select {
					case answers <- answer{i, status}:
					case <-asking.Done():
					}
				}
				sleep.For(asking, statusPeriod)
			}
		})
	}
	latest := make([]*clientv3.StatusResponse, len(c.Members))
	for {
		select {
		case a := <-answers:
			latest[a.member] = a.status
			if i := elected(latest); i >= 0 {
				return c.Members[i], nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("no member of etcd leads: %w", context.Cause(ctx))
		}
	}
}

type answer struct {
	member int // its index
	status *clientv3.StatusResponse
}

// elected is the index of the member that says that it leads, in a term that most
// of the members say is theirs; -1 where there is none. Nil: no answer.
func elected(said []*clientv3.StatusResponse) int {
	for i, leader := range said {
		if leader == nil || leader.Leader != leader.Header.MemberId {
			continue
		}
		same := 0
		for _, s := range said {
			if s != nil && s.RaftTerm == leader.RaftTerm && s.Leader == leader.Leader {
				same++
			}
		}
		if same > len(said)/2 {
			return i
		}
	}
	return -1
}

// ByLeaseID returns the members in the order of the lease IDs that they grant, the one with the lowest first.
func (c *Cluster) ByLeaseID() []*Member {
	return slices.SortedFunc(slices.Values(c.Members), byLeaseID)
}

func byLeaseID(a, b *Member) int { return cmp.Compare(a.leaseIDs(), b.leaseIDs()) }

// leaseIDs are the first two bytes of the lease IDs that m grants: the last two of its member ID, without their top
// bit. See etcd's package pkg/idutil, and LeaseGrant in its server's v3_server.go.
func (m *Member) leaseIDs() uint64 {
	urls := types.MustNewURLs([]string{m.peerURL()})
	return uint64(membership.NewMember(m.Name, urls, clusterToken, nil).ID) & 0x7fff
}

// ordered says that the members' lease IDs have an order: no two members have these bytes in common, as in one of
// 11,000 clusters of three.
func ordered(members []*Member) bool {
	all := slices.SortedFunc(slices.Values(members), byLeaseID)
	return len(slices.CompactFunc(all, func(a, b *Member) bool { return byLeaseID(a, b) == 0 })) == len(members)
}

// clusterToken is the default of etcd, which the members have.
var clusterToken = embed.NewConfig().InitialClusterToken

// peerURL is where the other members find m. Its member ID comes from this URL.
func (m *Member) peerURL() string { return "http://" + m.config.Found() }

// Save writes a snapshot of the leader to file, as "etcdctl snapshot save" does. All
// that was acknowledged before is in it.
func (c *Cluster) Save(ctx context.Context, file string) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return fmt.Errorf("snapshot of etcd: %w", err)
	}
	config := clientv3.Config{Endpoints: []string{leader.Endpoint()}, Logger: zap.NewNop()}
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	// A snapshot is what the member has applied. After a linearizable read that is all
	// that was acknowledged, by others too.
	if _, err := client.Get(ctx, "\x00", clientv3.WithKeysOnly()); err != nil {
		return fmt.Errorf("snapshot of etcd: %w", err)
	}
	if _, err := snapshot.NewV3(zap.NewNop()).Save(ctx, config, file); err != nil {
		return fmt.Errorf("snapshot of etcd, of %s to %s: %w", leader.Name, file, err)
	}
	return nil
}

// Restored says how revisions go on after Restore. The zero value: from that of the
// snapshot, which gives out those once more that were given out since.
type Restored struct {
	// BumpRevision is how far above the snapshot's they go on: by more than were
	// given out since, none is given out again.
	BumpRevision uint64
	// MarkCompacted has watches from before end with an error, as what they would have to tell is not
	// known. It goes with BumpRevision: both or none, as in "etcdutl snapshot restore".
	MarkCompacted bool
}

// Restore ends all members, replaces their data by the snapshot in file, as "etcdutl snapshot restore"
// does, starts them and returns when all serve, on the addresses that they had. They keep their member
// IDs, so that ByLeaseID stays the same. A file that is no snapshot leaves the cluster as it is; after
// another error it may have no members that run. Nobody else may restart members meanwhile.
func (c *Cluster) Restore(ctx context.Context, file string, r Restored) error {
	if r.MarkCompacted != (r.BumpRevision > 0) {
		return fmt.Errorf("restore etcd: to bump the revision by %d and to mark it compacted (%t) go together: want both or none", r.BumpRevision, r.MarkCompacted)
	}
	for _, m := range c.Members {
		if err := m.prepare(file, r); err != nil {
			return fmt.Errorf("restore %s from %s: %w", m.Name, file, err)
		}
	}
	if err := proc.KillAll(c.Members); err != nil {
		return err
	}
	for _, m := range c.Members {
		if err := errors.Join(os.RemoveAll(m.config.Dir), os.Rename(m.restoredDir(), m.config.Dir)); err != nil {
			return fmt.Errorf("restore %s: %w", m.Name, err)
		}
	}
	return c.start(ctx)
}

// restoredDir is where the member's next data directory is prepared.
func (m *Member) restoredDir() string { return m.config.Dir + ".restored" }

func (m *Member) prepare(file string, r Restored) error {
	if err := os.RemoveAll(m.restoredDir()); err != nil { // of an attempt that failed
		return err
	}
	return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        file,
		Name:                m.Name,
		OutputDataDir:       m.restoredDir(),
		PeerURLs:            []string{m.peerURL()},
		InitialCluster:      m.config.Cluster,
		InitialClusterToken: clusterToken,
		RevisionBump:        r.BumpRevision,
		MarkCompacted:       r.MarkCompacted,
	})
}
