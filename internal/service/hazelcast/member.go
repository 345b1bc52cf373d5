package hazelcast

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/hazelcast/hzproc"
)

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
