package etcd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// memberNames is a regular expression of the names that members can have.
const memberNames = "etcd[0-9]+"

// What a story says of a member by its name.
const (
	memberDead  = "%s is dead"
	memberStill = "%s stands still"
)

// checkMember refuses a member that is not there, and one of which a fact is or is not
// so; else it notes another fact.
func checkMember(want bool, fact string, note map[string]bool, words string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		named := func(text string) string { return strings.ReplaceAll(text, "%s", step.Node) }
		members := s.Variant.World.Settings.Number(settingMembers)
		if n, err := strconv.Atoi(strings.TrimPrefix(step.Node, "etcd")); err != nil || n < 1 || n > members {
			return fmt.Sprintf("there is no %s: its members are etcd1 to etcd%d", step.Node, members)
		}
		if s.Facts[named(fact)] != want {
			return named(words)
		}
		for text, is := range note {
			s.Facts[named(text)] = is
		}
		return ""
	}
}

var killMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "kill NODE", Own: "kills members of etcd",
		About: "Kills a member of etcd (SIGKILL), until \"restart NODE\".",
		Check: checkMember(false, memberDead, map[string]bool{memberDead: true, memberStill: false}, "%s is dead already"),
	},
	Do: func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		return of.(*servers).lose(ctx, stage, step.Node, "is killed", func(p *proc.Process) error {
			stage.Mean(p)
			return p.Kill()
		})
	},
}

var restartMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "restart NODE",
		About: "Starts the killed member again, on its data.",
		Check: checkMember(true, memberDead, map[string]bool{memberDead: false}, "%s runs: it needs a step \"gcsim: kill %s\" before"),
	},
	Do: func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		s := of.(*servers)
		m := s.named(step.Node)
		if err := stage.Meanwhile(ctx, m.Name()+" to serve", m.Restart); err != nil {
			return err
		}
		stage.Guard(m.Process())
		s.serves(m)
		stage.Remark(stage.Now(), m.Name()+" is started again")
		return nil
	},
}

var pauseMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "pause NODE", Own: "stops members of etcd",
		About: "Stops a member of etcd (SIGSTOP), until \"resume NODE\".",
		Check: func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if s.Facts[strings.ReplaceAll(memberDead, "%s", step.Node)] {
				return step.Node + " is dead: nothing can be done with it but to restart it"
			}
			return checkMember(false, memberStill, map[string]bool{memberStill: true}, "%s stands still already")(s, c, step)
		},
	},
	Do: func(ctx context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		return of.(*servers).lose(ctx, stage, step.Node, "is stopped", (*proc.Process).Pause)
	},
}

var resumeMember = service.Fault{
	Form: scenario.Form{
		Actor: scenario.ActorLab, Usage: "resume NODE",
		About: "Lets the stopped member go on.",
		Check: checkMember(true, memberStill, map[string]bool{memberStill: false}, "%s does not stand still here"),
	},
	Do: func(_ context.Context, of service.Servers, stage service.Stage, step scenario.Step) error {
		s := of.(*servers)
		m := s.named(step.Node)
		if err := s.resume(m); err != nil {
			return err
		}
		stage.Remark(stage.Now(), m.Name()+" goes on")
		return nil
	},
}

// named is the member of that name.
func (s *servers) named(name string) *etcdproc.Member {
	i := slices.IndexFunc(s.cluster.Members, func(m *etcdproc.Member) bool { return m.Name() == name })
	return s.cluster.Members[i]
}

// lose does to a member's process what takes the member from the others.
func (s *servers) lose(ctx context.Context, stage service.Stage, name, how string, do func(*proc.Process) error) error {
	m, at := s.named(name), stage.Now()
	if err := do(m.Process()); err != nil {
		return err
	}
	stage.Remark(at, name+", a member of etcd, "+how)
	return s.observeOthers(ctx, m)
}

func (s *servers) resume(m *etcdproc.Member) error {
	s.serves(m)
	return m.Process().Resume()
}

// serves says that a member is not gone any more.
func (s *servers) serves(m *etcdproc.Member) {
	s.gone = slices.DeleteFunc(s.gone, func(o *etcdproc.Member) bool { return o == m })
}

// observeOthers has the account go on through a member that serves, where one has just
// gone and the others still are most of all. Where they are not, nobody is granted a
// lock, and the account goes on when they are.
func (s *servers) observeOthers(ctx context.Context, gone *etcdproc.Member) error {
	s.gone = append(s.gone, gone)
	serving := slices.DeleteFunc(slices.Clone(s.cluster.Members), func(m *etcdproc.Member) bool { return slices.Contains(s.gone, m) })
	if len(serving) <= len(s.cluster.Members)/2 {
		return nil
	}
	if err := s.stopObserving(ctx); err != nil {
		return err
	}
	return s.observe(ctx, []string{serving[0].Endpoint()}, false)
}
