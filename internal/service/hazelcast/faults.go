package hazelcast

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/hazelcast/hzproc"
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

var killMember = nodes.Kill(func(_ context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	story.Ends(of.(*servers).named(step.Node).Process())
	return signal(of, story, step, " is killed", (*proc.Process).Kill)
})

var pauseMember = nodes.Pause(func(_ context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	return signal(of, story, step, " is stopped", (*proc.Process).Pause)
})

var resumeMember = nodes.Resume(func(_ context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	return signal(of, story, step, " goes on", (*proc.Process).Resume)
})

// signal does something to the process of a member; how says so.
func signal(of service.Servers, story service.Story, step scenario.Step, how string, do func(*proc.Process) error) error {
	m := of.(*servers).named(step.Node)
	return service.Noted(story, m.Name+", a member of Hazelcast,"+how, func() error { return do(m.Process()) })
}

// named is the member of that name.
func (s *servers) named(name string) *hzproc.Member {
	i := slices.IndexFunc(s.cluster.Members, func(m *hzproc.Member) bool { return m.Name == name })
	return s.cluster.Members[i]
}
