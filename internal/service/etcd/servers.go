package etcd

import (
	"context"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// servers are the members of a run.
type servers struct {
	stage     service.Stage
	cluster   *etcdproc.Cluster // nil: they were there already
	endpoints []string
	observer  *watch
	led       *etcdproc.Member   // and was stopped
	gone      []*etcdproc.Member // that are dead or stand still
}

// start starts members, with links between them if the story isolates one.
func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	begin := etcdproc.Start
	if isolates(stage.Plan().Steps) {
		begin = etcdproc.StartLinked
	}
	cluster, err := begin(ctx, stage.Group(), stage.Plan().World.Number(settingMembers), etcdserver.Config{})
	if err != nil {
		return nil, err
	}
	s := &servers{stage: stage, cluster: cluster, endpoints: cluster.Endpoints()}
	s.guard()
	return s, nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, endpoints: endpoints}
}

// guard has the end of a member's process, as it is now, end the run.
func (s *servers) guard() {
	for _, m := range s.cluster.Members {
		s.stage.Guard(m.Process())
	}
}

// Endpoints implements service.Servers.
func (s *servers) Endpoints(ctx context.Context, client setting.Values) ([]string, error) {
	which := client.Text(settingMember)
	if which == memberAny {
		var all []string
		for _, e := range s.endpoints {
			all = append(all, strings.TrimPrefix(e, "http://"))
		}
		return all, nil
	}
	m, err := s.member(ctx, which)
	if err != nil {
		return nil, err
	}
	return []string{m.Endpoint()}, nil
}

// member is the one that a client's setting names.
func (s *servers) member(ctx context.Context, which string) (*etcdproc.Member, error) {
	switch which {
	case memberLeader:
		return s.leader(ctx)
	case memberFollower:
		leader, err := s.leader(ctx)
		if err != nil {
			return nil, err
		}
		return s.others(leader)[0], nil
	}
	var members []*etcdproc.Member
	err := s.stage.Meanwhile(ctx, "the IDs of etcd's members", func(ctx context.Context) (err error) {
		members, err = s.cluster.ByLeaseID(ctx)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case which == memberHighest:
		return members[len(members)-1], nil
	}
	return members[0], nil
}

// others are all members but one.
func (s *servers) others(one *etcdproc.Member) []*etcdproc.Member {
	return slices.DeleteFunc(slices.Clone(s.cluster.Members), func(m *etcdproc.Member) bool { return m == one })
}

// leader is the member that leads.
func (s *servers) leader(ctx context.Context) (leader *etcdproc.Member, err error) {
	err = s.stage.Meanwhile(ctx, "a leader of etcd", func(ctx context.Context) (err error) {
		leader, err = s.cluster.Leader(ctx)
		return err
	})
	return leader, err
}

// position is etcd's revision.
func (s *servers) position(ctx context.Context) (revision fence.Token, err error) {
	err = s.stage.Meanwhile(ctx, "etcd's revision", func(ctx context.Context) error {
		resp, err := s.observer.client.Get(ctx, "fencelab")
		if err == nil {
			revision = fence.Token(resp.Header.Revision)
		}
		return err
	})
	return revision, err
}

// Leave implements service.Servers. What it cannot end runs out.
func (s *servers) Leave(ctx context.Context) {
	if s.observer == nil {
		return
	}
	left, err := s.observer.client.Get(ctx, s.stage.Plan().Prefix, clientv3.WithPrefix())
	if err != nil {
		return
	}
	for _, kv := range left.Kvs {
		_, _ = s.observer.client.Revoke(ctx, clientv3.LeaseID(kv.Lease))
	}
}
