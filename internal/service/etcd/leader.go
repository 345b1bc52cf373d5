package etcd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// leaderName is what the member that leads is called in steps.
const leaderName = "leader"

// leaderIs begins a fact of a story: how it lost the leader.
const leaderIs = "the leader is "

const leaderStopped = "stopped"

// pauseLeader stops the member that leads, by SIGSTOP, and awaits that another one
// does.
var pauseLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "pause leader", Target: leaderName, Own: "stops etcd's leader",
		About: "Stops etcd's leader, until \"resume leader\".",
		Check: checkLoss(leaderStopped),
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return s.loseLeader(ctx, story, "is stopped", s.pause)
	},
}

// resumeLeader lets it go on.
var resumeLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "resume leader", Target: leaderName,
		About: "Lets etcd's old leader go on.",
		Check: checkReturn(leaderStopped),
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s := of.(*servers)
		return s.resume(ctx, story, s.led, ", the member that led, goes on, as a follower")
	},
}

// checkLoss refuses to lose a leader where none could follow, and a second one.
func checkLoss(how string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		if members := s.Variant.World.Settings.Number(settingMembers); members < 3 {
			return fmt.Sprintf("etcd has %d members, and nobody else could lead: it needs \"members: 3\"", members)
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

// checkReturn refuses to bring back a leader that was not lost so.
func checkReturn(how string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		if !s.Facts[leaderIs+how] {
			return leaderIs + "not " + how + " here"
		}
		s.Facts[leaderIs+how] = false
		return ""
	}
}

// loseLeader does to the member that leads what takes it from the others, and awaits
// that another one leads.
func (s *servers) loseLeader(ctx context.Context, story service.Story, how string, do func(*etcdproc.Member) error) error {
	var old, next *etcdproc.Member
	var at time.Duration
	err := s.stage.Meanwhile(ctx, "another member to lead", func(ctx context.Context) (err error) {
		if old, err = s.cluster.Leader(ctx); err != nil {
			return err
		}
		at = story.Now()
		if err := do(old); err != nil {
			return err
		}
		next, err = s.otherLeader(ctx, old)
		return err
	})
	if err != nil {
		return err
	}
	now := story.Now()
	s.led = old
	story.Remark(at, fmt.Sprintf("%s, the member of etcd that leads, %s", old.Name(), how))
	story.Remark(now, fmt.Sprintf("%s leads now; for %.3f s nobody did, and all leases were given their whole time anew", next.Name(), (now-at).Seconds()))
	return s.observeServing(ctx, story)
}

// otherLeader awaits that another member leads than one that is lost. That one may say
// for a while that it does.
func (s *servers) otherLeader(ctx context.Context, lost *etcdproc.Member) (*etcdproc.Member, error) {
	for {
		if m, err := s.cluster.Leader(ctx); m != lost || err != nil {
			return m, err
		}
	}
}
