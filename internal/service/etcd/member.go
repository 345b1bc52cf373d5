package etcd

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// memberNames is a regular expression of the names that members can have.
const memberNames = "etcd[0-9]+"

// named is what a story calls them.
var named = service.Nodes{Name: Name, Setting: settingMembers, One: "member of etcd", Many: "members of etcd"}

var killMember = named.Kill(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	return s.lose(ctx, story, s.named(step.Node), "is killed", s.kill(story))
})

var restartMember = named.Restart(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	m := s.named(step.Node)
	if err := story.Meanwhile(ctx, m.Name()+" to serve", m.Restart); err != nil {
		return err
	}
	story.Guard(m.Process())
	story.Remark(story.Now(), m.Name()+" is started again")
	return s.regain(ctx, story, m)
}, service.NodeRule{Fact: memberIsolated, Is: true, Words: "%s is isolated, and serves only with the others: it needs a step \"gcsim: heal %s\" before"})

var pauseMember = named.Pause(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	return s.lose(ctx, story, s.named(step.Node), "is stopped", s.pause)
})

var resumeMember = named.Resume(func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	s := of.(*servers)
	return s.resume(ctx, story, s.named(step.Node), " goes on")
})

// named is the member of that name.
func (s *servers) named(name string) *etcdproc.Member {
	i := slices.IndexFunc(s.cluster.Members, func(m *etcdproc.Member) bool { return m.Name() == name })
	return s.cluster.Members[i]
}

// lose does to a member what takes it from the others, and awaits that another one leads
// where most serve.
func (s *servers) lose(ctx context.Context, story service.Story, m *etcdproc.Member, how string, do func(*etcdproc.Member) error) error {
	if err := service.Noted(story, m.Name()+", a member of etcd, "+how, func() error { return do(m) }); err != nil {
		return err
	}
	if _, most := s.serving(); !most {
		return nil
	}
	var leader *etcdproc.Member
	err := s.stage.Meanwhile(ctx, "a leader without "+m.Name(), func(ctx context.Context) (err error) {
		leader, err = s.otherLeader(ctx, m)
		return err
	})
	if err != nil {
		return err
	}
	story.Remark(story.Now(), leader.Name()+" leads the others")
	return s.observeServing(ctx, story)
}

func (s *servers) kill(story service.Story) func(*etcdproc.Member) error {
	return func(m *etcdproc.Member) error {
		s.gone = append(s.gone, m)
		story.Ends(m.Process())
		return m.Process().Kill()
	}
}

func (s *servers) pause(m *etcdproc.Member) error {
	s.gone = append(s.gone, m)
	return m.Process().Pause()
}

// resume lets a stopped member go on; how says so.
func (s *servers) resume(ctx context.Context, story service.Story, m *etcdproc.Member, how string) error {
	if err := m.Process().Resume(); err != nil {
		return err
	}
	story.Remark(story.Now(), m.Name()+how)
	return s.regain(ctx, story, m)
}

// regain says that a member is not gone any more.
func (s *servers) regain(ctx context.Context, story service.Story, m *etcdproc.Member) error {
	s.gone = slices.DeleteFunc(s.gone, func(o *etcdproc.Member) bool { return o == m })
	return s.observeServing(ctx, story)
}

// serving are the members that are neither gone nor isolated. most says that they are
// most of all.
func (s *servers) serving() (serving []*etcdproc.Member, most bool) {
	for _, m := range s.cluster.Members {
		if !slices.Contains(s.gone, m) && !s.cluster.Isolated(m) {
			serving = append(serving, m)
		}
	}
	return serving, len(serving) > len(s.cluster.Members)/2
}

// observeServing has the account go on through a member that serves, where the one that
// it goes through does not. Where most do not serve nobody is granted a lock, and the
// account goes on when they do.
func (s *servers) observeServing(ctx context.Context, story service.Story) error {
	serving, most := s.serving()
	through := s.observer.client.Endpoints()
	if !most || slices.ContainsFunc(serving, func(m *etcdproc.Member) bool { return slices.Contains(through, m.Endpoint()) }) {
		return nil
	}
	if err := s.stopObserving(ctx, story); err != nil {
		return err
	}
	return s.observe(ctx, []string{serving[0].Endpoint()}, nil)
}
