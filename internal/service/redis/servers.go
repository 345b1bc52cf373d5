package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/replica"
)

type servers struct {
	stage   service.Stage
	nodes   []*node
	account *account
	standby *standby // of the only node; nil: it has no replica
}

// node is a Redis that knows nothing of the others.
type node struct {
	name    string
	place   int // among the nodes, from 0
	servers *servers
	server  *redisproc.Server // nil: it was there already
	options *redis.Options
	gate    *gate        // nil: it has no others beside it
	tag     string       // of a key that it has in a cluster
	away    sync.RWMutex // held while the node is started again, and has no account yet
	watch   *watch
}

// process is the node's; nil where it was there already.
func (n *node) process() *proc.Process {
	if n.server == nil {
		return nil
	}
	return n.server.Process()
}

func (p place) start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	all := &servers{stage: stage}
	program := p.programFor(stage.Plan().Steps)
	if all.clustered() {
		return all, all.startCluster(ctx, program)
	}
	for i := range stage.Plan().World.Number(settingNodes) {
		n, err := all.start(ctx, program, i)
		if err != nil {
			return nil, err
		}
		all.nodes = append(all.nodes, n)
		if stage.Plan().World.Number(settingNodes) == 1 {
			continue // whose stream has the order of all that happens
		}
		if n.gate, err = newGate(n); err != nil {
			return nil, err
		}
		stage.Group().After(n.gate.close)
	}
	if stage.Plan().World.Number(settingReplicas) == 0 {
		return all, nil
	}
	return all, all.standBy(ctx, program)
}

// replicateAtOnce has a node send a replica its snapshot at once, and not after some seconds.
var replicateAtOnce = []string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"}

// start starts a node, and returns when it serves. more are arguments of its own.
func (s *servers) start(ctx context.Context, program string, place int, more ...string) (*node, error) {
	dir := filepath.Join(s.stage.Group().Dir, nameOf(place))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	world := s.stage.Plan().World
	server, err := redisproc.Start(ctx, s.stage.Group(), program, slices.Concat(
		redisproc.Settings(dir, world.Text(settingPersistence)),
		[]string{"--maxmemory", fmt.Sprint(memory), "--maxmemory-policy", evictions[world.Text(settingEviction)]},
		replicateAtOnce, more)...)
	if err != nil {
		return nil, err
	}
	service.Guard(s.stage, server.Process())
	return s.node(server, "", server.Addr, place)
}

func (s *servers) clustered() bool { return s.stage.Plan().World.Flag(settingCluster) }

// startCluster starts the nodes as the masters of one cluster.
func (s *servers) startCluster(ctx context.Context, program string) error {
	group := s.stage.Group()
	settings := append(redisproc.Settings(group.Dir, persistenceNone), replicateAtOnce...)
	masters, err := redisproc.Cluster(ctx, group, program, s.stage.Plan().World.Number(settingNodes), settings...)
	if err != nil {
		return err
	}
	for i, server := range masters {
		service.Guard(s.stage, server.Process())
		n, err := s.node(server, "", server.Addr, i)
		if err != nil {
			return err
		}
		if n.tag, err = redisproc.Tag(ctx, masters, i); err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
	}
	return nil
}

func nameOf(place int) string { return fmt.Sprint(Name, place+1) }

func (p place) join(stage service.Stage, endpoints []string) service.Servers {
	all := &servers{stage: stage}
	n, _ := all.node(nil, p.url, endpoints[0], 0) // Reach has looked at it
	all.nodes = append(all.nodes, n)
	return all
}

func (s *servers) node(server *redisproc.Server, url, addr string, place int) (*node, error) {
	options, err := optionsOf(url, addr)
	return &node{name: nameOf(place), place: place, servers: s, server: server, options: options}, err
}

// reach asks one that is there already. A Redis that allows no replica is of no use.
func (p place) reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 || !service.IsAddress(endpoints[0]) {
		return fmt.Errorf("redis at %q: want one HOST:PORT", endpoints)
	}
	options, err := optionsOf(p.url, endpoints[0])
	if err != nil {
		return err
	}
	n := &node{name: "redis at " + endpoints[0], options: options}
	ctx, cancel := context.WithTimeoutCause(ctx, service.ReachDeadline, fmt.Errorf("%s does not answer after %v", n.name, service.ReachDeadline))
	defer cancel()
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("%s: %w", n.name, errors.Join(err, context.Cause(ctx)))
	}
	conn, err := n.dial(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	stream, err := replica.Follow(ctx, conn, options.Username, options.Password)
	if err != nil {
		return fmt.Errorf("%s allows no replica, by which runs see who holds its locks: %w", n.name, err)
	}
	stream.Close()
	return nil
}

// dial makes a connection for a replication stream.
func (n *node) dial(ctx context.Context) (net.Conn, error) {
	if n.options.TLSConfig != nil {
		return (&tls.Dialer{Config: n.options.TLSConfig}).DialContext(ctx, "tcp", n.options.Addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", n.options.Addr)
}

func (s *servers) Observe(ctx context.Context) error {
	places, majority := len(s.nodes), needs(s.stage.Plan().Clients, len(s.nodes))
	if s.clustered() {
		majority = 1 // a key is on one node
	}
	if s.watched() {
		places++ // an old master that is cut off and the new one can both grant
	}
	s.account = newAccount(s.stage, places, majority)
	for _, n := range s.nodes {
		if err := errors.Join(n.observe(ctx, s.account), n.demand(ctx, s.minReplicas())); err != nil {
			return err
		}
	}
	return nil
}

func (s *servers) Endpoints(_ context.Context, client setting.Values) (addrs []string, err error) {
	if s.standby != nil && client.Text(settingBeside) == besideNone {
		return []string{s.standby.door.Addr()}, nil
	}
	for _, n := range s.nodes {
		addr := n.options.Addr
		if n.gate != nil {
			addr = n.gate.door.Addr()
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

func (s *servers) Leave(ctx context.Context) {
	for _, n := range s.nodes {
		client := redis.NewClient(n.options)
		defer client.Close()
		for _, lock := range s.stage.Plan().Locks {
			_ = client.Del(ctx, watched(lock)...).Err() // what is left expires, but for a number
		}
	}
}

// signals kill a node, start it again, stop it and let it go on.
var signals = nodes.Faults(func(of service.Servers, name string) service.Subject {
	n := of.(*servers).named(name)
	return service.Subject{Controlled: n.server, Called: name, Told: n.watch.ended}
}, restart)

func restart(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	n := s.named(step.Node)
	n.away.Lock()
	defer n.away.Unlock()
	n.watch.stop()
	if err := story.Meanwhile(ctx, n.name+" to serve", n.server.Restart); err != nil {
		return err
	}
	service.Guard(story, n.process())
	story.Remark(story.Now(), n.name+" is started again", n.is(history.NodeRunning))
	if s.standby != nil && n == s.standby.replica {
		return s.rejoin(ctx, story)
	}
	defer s.account.because(n.name + " has not kept its key")()
	return story.Meanwhile(ctx, "the account of "+n.name, func(starting context.Context) error {
		if err := n.observe(ctx, s.account); err != nil || !s.clustered() {
			return err
		}
		return redisproc.AwaitCluster(starting, len(s.nodes), n.server)
	})
}

// is is the node in that state, in the history.
func (n *node) is(state string) history.Node { return history.Node{Name: n.name, State: state} }

// leads is the node that leads from now on.
func (n *node) leads() history.Node {
	return history.Node{Name: n.name, State: history.NodeRunning, Leads: true}
}

func (s *servers) named(name string) *node {
	i := slices.IndexFunc(s.nodes, func(n *node) bool { return n.name == name })
	return s.nodes[i]
}
