package zookeeper

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// servers are the members of a run.
type servers struct {
	stage     service.Stage
	cluster   *zkproc.Cluster // nil: they were there already
	endpoints []string
	observer  *observer
	led       *zkproc.Member   // and was stopped or killed
	gone      []*zkproc.Member // that are dead or stand still
	requests  map[string]int   // of each session, by the last count; nil before the first
}

// start starts the run's own.
func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	cluster, err := zkproc.Start(ctx, stage.Group(), stage.Plan().World.Number(settingMembers))
	if err != nil {
		return nil, err
	}
	for _, m := range cluster.Members {
		stage.Guard(m.Process())
	}
	return &servers{stage: stage, cluster: cluster, endpoints: cluster.Endpoints()}, nil
}

// launch starts members for several runs.
func launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	cluster, err := zkproc.Start(ctx, g, world.Number(settingMembers))
	if err != nil {
		return service.Launched{}, err
	}
	launched := service.Launched{Endpoints: cluster.Endpoints()}
	for _, m := range cluster.Members {
		launched.Processes = append(launched.Processes, m.Process())
	}
	return launched, nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, endpoints: endpoints}
}

// Observe implements service.Servers, as those below do. It returns when all members tell.
func (s *servers) Observe(ctx context.Context) error {
	s.observer = newObserver(s.stage)
	for _, addr := range s.endpoints {
		stream, err := s.observer.begin(ctx, addr)
		if err != nil {
			return fmt.Errorf("observer: %w", err)
		}
		s.stage.Go(func() { s.observer.follow(ctx, addr, stream) })
	}
	return nil
}

func (s *servers) Endpoints(ctx context.Context, client setting.Values) ([]string, error) {
	which := client.Text(settingMember)
	if which == memberAny {
		return slices.Clone(s.endpoints), nil
	}
	leader, err := s.leader(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(s.cluster.Members, func(m *zkproc.Member) bool { return (m == leader) == (which == memberLeader) })
	return []string{s.cluster.Members[i].Addr}, nil
}

// leader is the member that leads.
func (s *servers) leader(ctx context.Context) (leader *zkproc.Member, err error) {
	err = s.stage.Meanwhile(ctx, "a leader of ZooKeeper", func(ctx context.Context) (err error) {
		leader, err = s.cluster.Leader(ctx)
		return err
	})
	return leader, err
}

// position is the number of a transaction.
func (s *servers) position(ctx context.Context) (zxid fence.Token, err error) {
	err = s.stage.Meanwhile(ctx, "ZooKeeper's last transaction", func(ctx context.Context) error {
		n, err := s.observer.position(ctx)
		zxid = fence.Token(n)
		return err
	})
	return zxid, err
}

// Leave deletes the nodes of the run, those of clients that are dead as well.
func (s *servers) Leave(ctx context.Context) {
	stream, err := watch.Follow(ctx, s.endpoints[0], nil, nil)
	if err != nil {
		return
	}
	defer stream.Close()
	for _, lock := range s.stage.Plan().Locks {
		nodes, _, _ := stream.Children(ctx, lock)
		for _, n := range nodes {
			_ = stream.Delete(ctx, lock+"/"+n.Name) // else it ends with its session
		}
		_ = stream.Delete(ctx, lock) // else ZooKeeper removes it, as it is a container
	}
	_ = stream.Delete(ctx, s.stage.Plan().Prefix)
}
