package etcd

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// leaderName is what the member that leads is called in steps.
const leaderName = "leader"

// leaderStopped is a fact of a story.
const leaderStopped = "the leader is stopped"

// pauseLeader stops the member that leads, by SIGSTOP, and awaits that another one
// does.
var pauseLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "pause leader", Target: leaderName, Own: "stops etcd's leader",
		About: "Stops etcd's leader, until \"resume leader\".",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if members := s.Variant.World.Settings.Number(settingMembers); members < 3 {
				return fmt.Sprintf("etcd has %d members, and nobody else could lead: it needs \"members: 3\"", members)
			}
			if s.Facts[leaderStopped] {
				return "the leader is stopped already"
			}
			s.Facts[leaderStopped] = true
			return ""
		},
	},
	Do: func(ctx context.Context, s service.Servers, stage service.Stage, _ scenario.Step) error {
		return s.(*servers).pauseLeader(ctx)
	},
}

func (s *servers) pauseLeader(ctx context.Context) error {
	var old, next *etcdproc.Member
	var at time.Duration
	err := s.stage.Meanwhile(ctx, "another member to lead", func(ctx context.Context) (err error) {
		if old, err = s.cluster.Leader(ctx); err != nil {
			return err
		}
		at = s.stage.Now()
		if err := old.Process().Pause(); err != nil {
			return err
		}
		next, err = s.cluster.Leader(ctx)
		return err
	})
	if err != nil {
		return err
	}
	now := s.stage.Now()
	s.led = old
	s.stage.Remark(at, fmt.Sprintf("%s, the member of etcd that leads, is stopped", old.Name()))
	s.stage.Remark(now, fmt.Sprintf("%s leads now; for %.3f s nobody did, and all leases were given their whole time anew", next.Name(), (now-at).Seconds()))
	return s.observeOthers(ctx, old)
}

// resumeLeader lets it go on.
var resumeLeader = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "resume leader", Target: leaderName,
		About: "Lets etcd's old leader go on.",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if !s.Facts[leaderStopped] {
				return "the leader is not paused here"
			}
			s.Facts[leaderStopped] = false
			return ""
		},
	},
	Do: func(_ context.Context, of service.Servers, stage service.Stage, _ scenario.Step) error {
		s := of.(*servers)
		if err := s.resume(s.led); err != nil {
			return err
		}
		stage.Remark(stage.Now(), s.led.Name()+", the member that led, goes on, as a follower")
		return nil
	},
}
