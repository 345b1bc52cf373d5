package hazelcast

import (
	"context"
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/hazelcast/hzproc"
)

type servers struct {
	stage    service.Stage
	cluster  *hzproc.Cluster // nil: other runs use them as well
	accounts []string        // where the members tell
	members  []string        // where they serve
	account  *account
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	cluster, err := hzproc.Start(ctx, stage.Group(), stage.Plan().World.Number(settingMembers), stage.Plan().World.Time(settingSession))
	if err != nil {
		return nil, err
	}
	for _, m := range cluster.Members {
		stage.Guard(m.Process())
	}
	return &servers{stage: stage, cluster: cluster, accounts: cluster.Accounts()}, nil
}

// launch starts members for several runs. The endpoints are where the members tell of their locks,
// and of where they serve.
func launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	cluster, err := hzproc.Start(ctx, g, world.Number(settingMembers), world.Time(settingSession))
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: cluster.Accounts(), Processes: proc.Processes(cluster.Members)}, nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, accounts: endpoints}
}

// Observe returns when all members tell.
func (s *servers) Observe(ctx context.Context) error {
	s.account = newAccount(s.stage)
	for _, addr := range s.accounts {
		stream, err := listen(ctx, addr)
		if err != nil {
			return fmt.Errorf("observer: %w", err)
		}
		s.members = append(s.members, stream.member)
		s.stage.Go(func() { s.follow(ctx, addr, stream) })
	}
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return slices.Clone(s.members), nil
}

// Leave has nothing to do: what the run's clients held ends with their sessions.
func (s *servers) Leave(context.Context) {}

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
