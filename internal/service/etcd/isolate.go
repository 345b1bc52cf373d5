package etcd

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// memberIsolated is what a story says of a member by its name.
const memberIsolated = "%s is isolated"

const isolatesMembers = "isolates members of etcd"

// isolation: a member and the others hear nothing of each other.
var isolation = service.Loss[*etcdproc.Member]{How: "isolated", More: " from the others", State: history.NodeIsolated, Do: func(of service.Servers, _ service.Story, m *etcdproc.Member) error {
	of.(*servers).cluster.Isolate(m)
	return nil
}}

var isolateMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "isolate NODE", Own: isolatesMembers,
		About: "Nothing passes between a member of etcd and the others, until \"heal NODE\". Clients reach all of them.",
		Check: func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if members := s.Variant.World.Settings.Number(nodes.Setting); members == 1 {
				return "etcd has one member, and no others from which it could be isolated: it needs \"members: 3\""
			}
			return nodes.Check(map[string]bool{memberIsolated: true}, service.NodeRule{Fact: memberIsolated, Is: true, Words: "%s is isolated already"})(s, c, step)
		},
	},
	Do: nodes.Lose(isolation),
}

var healMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "heal NODE",
		About: "The isolated member and the others reach each other again.",
		Check: nodes.Check(map[string]bool{memberIsolated: false}, service.NodeRule{Fact: memberIsolated, Is: false, Words: "%s is not isolated here: it needs a step \"gcsim: isolate %s\" before"}),
	},
	Do: nodes.On(heal),
}

// isolateLeader and healLeader do the same with the member that leads.
var (
	isolateLeader = nodes.LoseLeader("isolate", isolatesMembers,
		"Nothing passes between etcd's leader and the other members, until \"heal leader\". Clients reach all of them.", isolation)
	healLeader = nodes.RegainLeader("heal", "The isolated leader and the others reach each other again.", isolation.How, heal)
)

func isolates(story []scenario.Step) bool {
	return slices.ContainsFunc(story, func(s scenario.Step) bool { return s.Form.Own == isolatesMembers })
}

// heal returns when the member has caught up with the others, unless that would take
// members that are gone.
func heal(ctx context.Context, of service.Servers, story service.Story, m *etcdproc.Member) error {
	s := of.(*servers)
	s.cluster.Heal(m)
	story.Remark(story.Now(), m.Name+" and the others reach each other again", history.Node{Name: m.Name, State: history.NodeRunning})
	if serving, most := s.Serving(); most && slices.Contains(serving, m) {
		if err := story.Meanwhile(ctx, m.Name+" to catch up", m.AwaitCaughtUp); err != nil {
			return err
		}
	}
	return s.observeServing(ctx, story)
}
