package nats

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc"
)

var nodes = &service.Electing[*natsproc.Member]{
	Nodes:   service.Nodes{Name: Name, Setting: service.SettingMembers.Name, One: "member of NATS", Many: "members of NATS"},
	Service: "NATS",
}

type servers struct {
	service.Quorum[*natsproc.Member]
	cluster *natsproc.Cluster
	account *account
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	world := stage.Plan().World
	cluster, err := natsproc.Start(ctx, stage.Group(), natsproc.Config{Members: world.Number(nodes.Setting), Bucket: world.Text(settingBucket)})
	if err != nil {
		return nil, err
	}
	s := serversOf(stage, cluster)
	s.Guard()
	return s, nil
}

func serversOf(stage service.Stage, cluster *natsproc.Cluster) *servers {
	s := &servers{cluster: cluster}
	s.Quorum = service.Quorum[*natsproc.Member]{Of: nodes, Stage: stage, Members: cluster.Members, Elect: cluster.Leader, Settle: s.settle}
	return s
}

// Observe returns when the bucket is there, and its account.
func (s *servers) Observe(ctx context.Context) error {
	process, err := s.cluster.Account()
	if err != nil {
		return err
	}
	s.account = newAccount(s.Stage, process.Stdin)
	s.Stage.Go(func() { s.Stage.Fail(process, process.ReadLines(process.Stdout, s.account.line)) })
	begun, cancel := context.WithTimeoutCause(ctx, service.ObserveDeadline, fmt.Errorf("NATS has no bucket after %v", service.ObserveDeadline))
	defer cancel()
	return s.account.await(begun)
}

func (s *servers) Endpoints(ctx context.Context, client setting.Values) ([]string, error) {
	which := client.Text(service.SettingMember)
	if which == service.MemberAny {
		return proc.Endpoints(s.Members), nil
	}
	m, err := s.Role(ctx, which)
	if err != nil {
		return nil, err
	}
	return []string{m.Addr}, nil
}

// settle returns when all is told that was done before. Nothing is awaited of members that have no majority.
func (s *servers) settle(ctx context.Context, _ service.Story, resumed bool) error {
	if _, most := s.Serving(); !most || resumed {
		return nil
	}
	return s.Stage.Meanwhile(ctx, "the account of NATS", s.account.await)
}

// Leave has nothing to do: the members end with the run.
func (s *servers) Leave(context.Context) {}
