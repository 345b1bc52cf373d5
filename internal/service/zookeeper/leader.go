package zookeeper

import (
	"context"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
)

// leaderName is what the member that leads is called in steps.
const leaderName = "leader"

// leaderIs begins a fact of a story: how it lost the leader.
const leaderIs = "the leader is "

// How a story loses the leader.
const (
	leaderStopped = "stopped"
	leaderKilled  = "killed"
)

// pauseLeader stops the member that leads, by SIGSTOP, and awaits that another one does.
var pauseLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "pause leader", Target: leaderName, Own: "stops ZooKeeper's leader",
		About: "Stops ZooKeeper's leader, until \"resume leader\".",
		Check: checkLoss(leaderStopped),
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return s.loseLeader(ctx, story, leaderStopped, s.pause)
	},
}

// resumeLeader lets it go on.
var resumeLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "resume leader", Target: leaderName,
		About: "Lets ZooKeeper's old leader go on.",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if !s.Facts[leaderIs+leaderStopped] {
				return leaderIs + "not " + leaderStopped + " here"
			}
			s.Facts[leaderIs+leaderStopped] = false
			return ""
		},
	},
	Do: func(_ context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return s.resume(story, s.led, ", the member that led, goes on, as a follower")
	},
}

// killLeader kills the member that leads, and awaits that another one does.
var killLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "kill leader", Target: leaderName, Own: "kills ZooKeeper's leader",
		About: "Kills ZooKeeper's leader (SIGKILL).",
		Check: checkLoss(leaderKilled),
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return s.loseLeader(ctx, story, leaderKilled, s.kill(story))
	},
}

// checkLoss refuses to lose a leader where none could follow, and a second one.
func checkLoss(how string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		if members := s.Variant.World.Settings.Number(settingMembers); members < 3 {
			return fmt.Sprintf("ZooKeeper has %d members, and nobody else could lead: it needs \"members: 3\"", members)
		}
		for fact, is := range s.Facts {
			if is && strings.HasPrefix(fact, leaderIs) {
				return fact + " already"
			}
		}
		s.Facts[leaderIs+how] = true
		return ""
	}
}

// loseLeader does to the member that leads what takes it from the others, and awaits that
// another one leads.
func (s *servers) loseLeader(ctx context.Context, story service.Story, how string, do func(*zkproc.Member) error) error {
	led, err := s.leader(ctx)
	if err != nil {
		return err
	}
	at := story.Now()
	if err := do(led); err != nil {
		return err
	}
	s.led = led
	next, err := s.leader(ctx)
	if err != nil {
		return err
	}
	now := story.Now()
	story.Remark(at, fmt.Sprintf("%s, the member of ZooKeeper that leads, is %s", led.Name, how))
	story.Remark(now, fmt.Sprintf("%s leads now; for %.3f s nobody did, and all sessions were given their whole time anew", next.Name, (now-at).Seconds()))
	return s.awaitAccount(ctx)
}
