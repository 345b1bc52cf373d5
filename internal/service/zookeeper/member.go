package zookeeper

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
)

var killMember = nodes.Kill(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	return s.lose(ctx, story, s.named(step.Node), "is killed", s.kill(story))
})

var restartMember = nodes.Restart(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	m := s.named(step.Node)
	if err := story.Meanwhile(ctx, m.Name+" to serve", m.Restart); err != nil {
		return err
	}
	story.Guard(m.Process())
	story.Remark(story.Now(), m.Name+" is started again")
	s.regain(m)
	return s.awaitAccount(ctx)
})

var pauseMember = nodes.Pause(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	return s.lose(ctx, story, s.named(step.Node), "is stopped", s.pause)
})

var resumeMember = nodes.Resume(func(_ context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	return s.resume(story, s.named(step.Node), " goes on")
})

// named is the member of that name.
func (s *servers) named(name string) *zkproc.Member {
	i := slices.IndexFunc(s.cluster.Members, func(m *zkproc.Member) bool { return m.Name == name })
	return s.cluster.Members[i]
}

// lose does to a member what takes it from the others, and awaits that another one leads
// where most serve.
func (s *servers) lose(ctx context.Context, story service.Story, m *zkproc.Member, how string, do func(*zkproc.Member) error) error {
	if err := service.Noted(story, m.Name+", a member of ZooKeeper, "+how, func() error { return do(m) }); err != nil {
		return err
	}
	if 2*len(s.gone) >= len(s.cluster.Members) {
		return nil
	}
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	story.Remark(story.Now(), leader.Name+" leads the others")
	return s.awaitAccount(ctx)
}

func (s *servers) kill(story service.Story) func(*zkproc.Member) error {
	return func(m *zkproc.Member) error {
		s.gone = append(s.gone, m)
		story.Ends(m.Process())
		return m.Process().Kill()
	}
}

func (s *servers) pause(m *zkproc.Member) error {
	s.gone = append(s.gone, m)
	err := m.Process().Pause()
	s.observer.drop(m.Addr)
	return err
}

// awaitAccount returns when all members tell that are not gone: those that lose their leader
// break all connections.
func (s *servers) awaitAccount(ctx context.Context) error {
	return s.stage.Meanwhile(ctx, "the account of ZooKeeper", func(ctx context.Context) error {
		for _, m := range s.cluster.Members {
			if slices.Contains(s.gone, m) {
				continue
			}
			if err := s.observer.await(ctx, m.Addr); err != nil {
				return err
			}
		}
		return nil
	})
}

// resume lets a stopped member go on; how says so.
func (s *servers) resume(story service.Story, m *zkproc.Member, how string) error {
	if err := m.Process().Resume(); err != nil {
		return err
	}
	story.Remark(story.Now(), m.Name+how)
	s.regain(m)
	return nil
}

// regain says that a member is not gone any more.
func (s *servers) regain(m *zkproc.Member) {
	s.gone = slices.DeleteFunc(s.gone, func(o *zkproc.Member) bool { return o == m })
}
