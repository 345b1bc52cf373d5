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
var restartAll = service.NewFault(scenario.Form{
	Usage: "restart " + Name, Target: scenario.TheService, Own: "restarts Hazelcast",
	About: "Kills all members of Hazelcast (SIGKILL), and starts them again. They have kept nothing.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		for i := range s.Variant.World.Settings.Number(settingMembers) {
			for _, fact := range []string{service.NodeDead, service.NodeStill} {
				s.Facts[fmt.Sprintf(fact, fmt.Sprint(Name, i+1))] = false
			}
		}
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	at := story.Now()
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
})

// signals kill a member, stop it and let it go on.
var signals = nodes.Faults(func(of service.Servers, name string) service.Subject {
	members := of.(*servers).cluster.Members
	m := members[slices.IndexFunc(members, func(m *hzproc.Member) bool { return m.Name == name })]
	return service.Subject{Controlled: m, Called: name + ", a member of Hazelcast,"}
}, nil)
