package zookeeper

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/pkg/fence"
)

var nodes = &service.Electing[*zkproc.Member]{
	Nodes:   service.Nodes{Name: Name, Setting: service.SettingMembers.Name, One: "member of ZooKeeper", Many: "members of ZooKeeper"},
	Service: "ZooKeeper", Leases: "sessions",
}

type servers struct {
	service.Quorum[*zkproc.Member]
	cluster   *zkproc.Cluster // nil: they were there already
	endpoints []string
	observer  *observer
	requests  map[string]int // of each session, by the last count; nil before the first
}

func config(world setting.Values) zkproc.Config {
	return zkproc.Config{Members: world.Number(nodes.Setting), Observer: world.Flag(settingObserver), ReadOnly: world.Flag(settingReadOnly), Containers: world.Time(settingContainers)}
}

// nodesOf are the members, and then the observer.
func nodesOf(world setting.Values) []history.Node {
	many := world.Number(nodes.Setting)
	if world.Flag(settingObserver) {
		many++
	}
	return service.NodesOf(Name, many, "")
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	cluster, err := zkproc.Start(ctx, stage.Group(), config(stage.Plan().World))
	if err != nil {
		return nil, err
	}
	s := &servers{cluster: cluster, endpoints: cluster.Endpoints()}
	s.Quorum = service.Quorum[*zkproc.Member]{
		Of: nodes, Stage: stage, Members: cluster.Members, Elect: cluster.Leader, Settle: s.settle,
		Stopped: func(m *zkproc.Member) { // it will not go on with its stream, and nobody asks it any more
			if stream := s.observer.note(m.Addr, nil, nil); stream != nil {
				stream.Close()
			}
		},
	}
	s.Guard()
	if cluster.Observer != nil {
		service.Guard(stage, cluster.Observer.Process())
	}
	return s, nil
}

func launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	cluster, err := zkproc.Start(ctx, g, config(world))
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: cluster.Endpoints(), Processes: proc.Processes(cluster.Members)}, nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{Quorum: service.Quorum[*zkproc.Member]{Stage: stage}, endpoints: endpoints}
}

// Observe returns when all members tell.
func (s *servers) Observe(ctx context.Context) error {
	s.observer = &observer{
		account: newAccount(s.Stage), locks: s.Stage.Plan().Locks,
		streams: make(map[string]*watch.Stream), failed: make(map[string]error), changed: make(chan struct{}),
	}
	begun, cancel := context.WithTimeoutCause(ctx, service.ObserveDeadline, fmt.Errorf("ZooKeeper does not answer after %v", service.ObserveDeadline))
	defer cancel()
	for _, addr := range s.endpoints {
		s.Stage.Go(func() { s.observer.follow(ctx, addr) })
		if err := s.observer.await(begun, addr); err != nil {
			return fmt.Errorf("observer: %w", err)
		}
	}
	return nil
}

func (s *servers) Endpoints(ctx context.Context, client setting.Values) ([]string, error) {
	which := client.Text(service.SettingMember)
	switch which {
	case service.MemberAny:
		return slices.Clone(s.endpoints), nil
	case service.MemberObserver:
		return []string{s.cluster.Observer.Addr}, nil
	}
	m, err := s.Role(ctx, which)
	if err != nil {
		return nil, err
	}
	return []string{m.Addr}, nil
}

// settle returns when all members tell that serve: those that lose their leader break all
// connections. One that goes on as it was need not be waited for.
func (s *servers) settle(ctx context.Context, _ service.Story, resumed bool) error {
	if resumed {
		return nil
	}
	return s.Stage.Meanwhile(ctx, "the account of ZooKeeper", func(ctx context.Context) error {
		serving, _ := s.Serving()
		for _, m := range serving {
			if err := s.observer.await(ctx, m.Addr); err != nil {
				return err
			}
		}
		return nil
	})
}

// position is the number of a transaction.
func (s *servers) position(ctx context.Context) (fence.Token, error) {
	zxid, err := service.Meanwhile(ctx, s.Stage, "ZooKeeper's last transaction", s.observer.position)
	return fence.Token(zxid), err
}

// Leave deletes the nodes of the run, those of clients that are dead as well.
func (s *servers) Leave(ctx context.Context) {
	stream, err := watch.Follow(ctx, s.endpoints[0], nil, nil)
	if err != nil {
		return
	}
	defer stream.Close()
	for _, lock := range s.Stage.Plan().Locks {
		nodes, _, _ := stream.Children(ctx, lock)
		for _, n := range nodes {
			_ = stream.Delete(ctx, lock+"/"+n.Name) // else it ends with its session
		}
		_ = stream.Delete(ctx, lock) // else ZooKeeper removes it, as it is a container
	}
	_ = stream.Delete(ctx, s.Stage.Plan().Prefix)
}
