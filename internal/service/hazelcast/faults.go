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
			if m.Runs() {
				story.Ends(m.Process())
			}
		}
		if err := proc.KillAll(s.cluster.Members); err != nil {
			return err
		}
		story.Remark(at, "all members of Hazelcast are killed")
		for _, m := range s.cluster.Members {
			err := story.Meanwhile(ctx, m.Name+" to start", func(ctx context.Context) error {
				s.account.forget()
				return m.Restart(ctx)
			})
			if err != nil {
				return err
			}
			story.Guard(m.Process())
		}
		err := story.Meanwhile(ctx, "Hazelcast to serve", func(ctx context.Context) error { return proc.AwaitAll(ctx, s.cluster.Members) })
		if err != nil {
			return err
		}
		story.Remark(story.Now(), "all members of Hazelcast are started again, and know nothing")
		return nil
	},
}

var (
	killMember = nodes.Kill(onMember(" is killed", func(story service.Story, p *proc.Process) error {
		story.Ends(p)
		return p.Kill()
	}))
	pauseMember  = nodes.Pause(onMember(" is stopped", func(_ service.Story, p *proc.Process) error { return p.Pause() }))
	resumeMember = nodes.Resume(onMember(" goes on", func(_ service.Story, p *proc.Process) error { return p.Resume() }))
)

// onMember does something to the process of a member; how says so.
func onMember(how string, do func(service.Story, *proc.Process) error) service.Doing {
	return func(_ context.Context, of service.Servers, story service.Story, step scenario.Step) error {
		members := of.(*servers).cluster.Members
		m := members[slices.IndexFunc(members, func(m *hzproc.Member) bool { return m.Name == step.Node })]
		return service.Noted(story, m.Name+", a member of Hazelcast,"+how, func() error { return do(story, m.Process()) })
	}
}
