package hazelcast

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// restartAll has all members end at the same time, and start again.
var restartAll = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "restart " + Name, Target: scenario.TheService, Own: "restarts Hazelcast",
		About: "Kills all members of Hazelcast (SIGKILL), and starts them again. They have kept nothing.",
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			for i := range s.Variant.World.Settings.Number(settingMembers) {
				for _, fact := range []string{service.NodeDead, service.NodeStill} {
					s.Facts[fmt.Sprintf(fact, fmt.Sprint(Name, i+1))] = false
				}
			}
			return ""
		},
	},
	Do: func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
		s, at := of.(*servers), story.Now()
		for _, m := range s.cluster.Members {
			if !m.Runs() {
				continue
			}
			story.Ends(m.Process())
			if err := m.Process().Kill(); err != nil {
				return err
			}
		}
		story.Remark(at, "all members of Hazelcast are killed")
		for _, m := range s.cluster.Members {
			err := story.Meanwhile(ctx, m.Name+" to start", func(ctx context.Context) error {
				s.account.forget()
				return s.cluster.Restart(ctx, m)
			})
			if err != nil {
				return err
			}
			story.Guard(m.Process())
		}
		if err := story.Meanwhile(ctx, "Hazelcast to serve", s.cluster.Await); err != nil {
			return err
		}
		story.Remark(story.Now(), "all members of Hazelcast are started again, and know nothing")
		return nil
	},
}
