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
	Do: func(ctx context.Context, of service.Servers, stage service.Stage, _ scenario.Step) error {
		s, at := of.(*servers), stage.Now()
		for _, m := range s.cluster.Members {
			if !m.Runs() {
				continue
			}
			stage.Mean(m.Process())
			if err := m.Process().Kill(); err != nil {
				return err
			}
		}
		stage.Remark(at, "all members of Hazelcast are killed")
		for _, m := range s.cluster.Members {
			err := stage.Meanwhile(ctx, m.Name+" to start", func(ctx context.Context) error {
				s.account.forget()
				return s.cluster.Restart(ctx, m)
			})
			if err != nil {
				return err
			}
			stage.Guard(m.Process())
		}
		if err := stage.Meanwhile(ctx, "Hazelcast to serve", s.cluster.Await); err != nil {
			return err
		}
		stage.Remark(stage.Now(), "all members of Hazelcast are started again, and know nothing")
		return nil
	},
}
