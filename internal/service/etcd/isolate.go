package etcd

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// What a story says of a member by its name, and of the leader.
const (
	memberIsolated = "%s is isolated"
	leaderIsolated = "isolated"
)

const isolatesMembers = "isolates members of etcd"

// isolateMember has a member and the others hear nothing of each other.
var isolateMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "isolate NODE", Own: isolatesMembers,
		About: "Nothing passes between a member of etcd and the others, until \"heal NODE\". Clients reach all of them.",
		Check: func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if members := s.Variant.World.Settings.Number(settingMembers); members == 1 {
				return "etcd has one member, and no others from which it could be isolated: it needs \"members: 3\""
			}
			return named.Check(map[string]bool{memberIsolated: true}, service.NodeRule{Fact: memberIsolated, Is: true, Words: "%s is isolated already"})(s, c, step)
		},
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
		s := of.(*servers)
		return s.lose(ctx, story, s.named(step.Node), "is isolated from the others", s.isolate)
	},
}

// healMember ends that.
var healMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "heal NODE",
		About: "The isolated member and the others reach each other again.",
		Check: named.Check(map[string]bool{memberIsolated: false}, service.NodeRule{Fact: memberIsolated, Is: false, Words: "%s is not isolated here: it needs a step \"gcsim: isolate %s\" before"}),
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
		s := of.(*servers)
		return s.heal(ctx, story, s.named(step.Node))
	},
}

// isolateLeader does the same to the member that leads, and awaits that another one does.
var isolateLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "isolate leader", Target: leaderName, Own: isolatesMembers,
		About: "Nothing passes between etcd's leader and the other members, until \"heal leader\". Clients reach all of them.",
		Check: checkLoss(leaderIsolated),
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return s.loseLeader(ctx, story, "is isolated from the others", s.isolate)
	},
}

// healLeader ends that.
var healLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "heal leader", Target: leaderName,
		About: "The isolated leader and the others reach each other again.",
		Check: checkReturn(leaderIsolated),
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return s.heal(ctx, story, s.led)
	},
}

// isolates reports whether a story isolates a member.
func isolates(story []scenario.Step) bool {
	return slices.ContainsFunc(story, func(s scenario.Step) bool { return s.Form.Own == isolatesMembers })
}

func (s *servers) isolate(m *etcdproc.Member) error {
	s.cluster.Isolate(m)
	return nil
}

// heal returns when the member has caught up with the others, unless that would take
// members that are gone.
func (s *servers) heal(ctx context.Context, story service.Story, m *etcdproc.Member) error {
	s.cluster.Heal(m)
	story.Remark(story.Now(), m.Name()+" and the others reach each other again")
	if serving, most := s.serving(); most && slices.Contains(serving, m) {
		if err := s.stage.Meanwhile(ctx, m.Name()+" to catch up", m.AwaitCaughtUp); err != nil {
			return err
		}
	}
	return s.observeServing(ctx, story)
}
