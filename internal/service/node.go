package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
)

// What a story says of a node by its name, for NodeRule.
const (
	NodeDead  = "%s is dead"
	NodeStill = "%s stands still"
)

// NodeRule refuses a step about a node of which a fact is so, or is not. The words say why; %s is the node.
type NodeRule struct {
	Fact  string
	Is    bool
	Words string
}

// Nodes are those of a service. They are called by its name and a number, from 1 to what a setting of the world says;
// without a setting there is one. What they are has One and Many, as in "member of etcd".
type Nodes struct{ Name, Setting, One, Many string }

// NodesOf are so many nodes of a service that run; nil where there is one. leader is one of them; "": nobody leads.
func NodesOf(name string, many int, leader string) (list []history.Node) {
	for i := range many {
		node := fmt.Sprint(name, i+1)
		list = append(list, history.Node{Name: node, State: history.NodeRunning, Leads: node == leader})
	}
	if many == 1 {
		return nil
	}
	return list
}

// Check makes the Check of a scenario.Form about a node. It refuses one that is not there,
// and what rules refuse; else it notes other facts.
func (n Nodes) Check(note map[string]bool, rules ...NodeRule) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		named := func(text string) string { return strings.ReplaceAll(text, "%s", step.Node) }
		nodes := 1
		if n.Setting != "" {
			nodes = s.Variant.World.Settings.Number(n.Setting)
		}
		if i, err := strconv.Atoi(strings.TrimPrefix(step.Node, n.Name)); err != nil || i < 1 || i > nodes {
			return fmt.Sprintf("there is no %s: there are %s1 to %[2]s%[3]d", step.Node, n.Name, nodes)
		}
		for _, r := range rules {
			if s.Facts[named(r.Fact)] == r.Is {
				return named(r.Words)
			}
		}
		for fact, is := range note {
			s.Facts[named(fact)] = is
		}
		return ""
	}
}

// Doing is what a fault does, as in Fault.
type Doing = func(ctx context.Context, s Servers, story Story, step scenario.Step) error

// Subject is a node as a story has it.
type Subject struct {
	Controlled
	Called string          // in the history
	Told   <-chan struct{} // closed when the account has all that the node told; nil: nobody waits for that
}

// Controlled is what can be done to the processes of a node.
type Controlled interface {
	Process() *proc.Process
	Kill() error
	Pause(context.Context) error
	Resume() error
}

// Faults kill a node, start it again by restart, unless that is nil or a rule refuses it, stop it and let it go on.
func (n Nodes) Faults(named func(of Servers, node string) Subject, restart Doing, rules ...NodeRule) []*Fault {
	signal := func(how, state string, do func(Subject, context.Context) error) Doing {
		return func(ctx context.Context, of Servers, story Story, step scenario.Step) error {
			s := named(of, step.Node)
			return Noted(story, s.Called+how, func() error { return do(s, ctx) }, history.Node{Name: step.Node, State: state})
		}
	}
	faults := []*Fault{
		n.Kill(func(ctx context.Context, of Servers, story Story, step scenario.Step) error {
			s := named(of, step.Node)
			story.Ends(s.Process())
			err := Noted(story, s.Called+" is killed", s.Kill, history.Node{Name: step.Node, State: history.NodeDead})
			if err != nil || s.Told == nil {
				return err
			}
			return story.AwaitClosed(ctx, "the end of what "+s.Called+" told", s.Told)
		}),
		n.Pause(signal(" is stopped", history.NodePaused, Subject.Pause)),
		n.Resume(signal(" goes on", history.NodeRunning, func(s Subject, _ context.Context) error { return s.Resume() })),
	}
	if restart != nil {
		faults = slices.Insert(faults, 1, n.Restart(restart, rules...))
	}
	return faults
}

// Kill and those below are the faults that kill a node, start it again, stop it and let it go on.
func (n Nodes) Kill(do Doing) *Fault {
	return &Fault{scenario.Form{
		Actor: scenario.ActorLab, Usage: "kill NODE", Own: "kills " + n.Many,
		About: "Kills a " + n.One + " (SIGKILL), until \"restart NODE\".",
		Check: n.Check(map[string]bool{NodeDead: true, NodeStill: false}, NodeRule{NodeDead, true, "%s is dead already"}),
	}, do}
}

// Restart has rules of the service's own.
func (n Nodes) Restart(do Doing, rules ...NodeRule) *Fault {
	runs := NodeRule{NodeDead, false, "%s runs: it needs a step \"gcsim: kill %s\" before"}
	return &Fault{scenario.Form{
		Actor: scenario.ActorLab, Usage: "restart NODE",
		About: "Starts the killed " + n.One + " again, with what is on its disk.",
		Check: n.Check(map[string]bool{NodeDead: false}, append([]NodeRule{runs}, rules...)...),
	}, do}
}

func (n Nodes) Pause(do Doing) *Fault {
	return &Fault{scenario.Form{
		Actor: scenario.ActorLab, Usage: "pause NODE", Own: "stops " + n.Many,
		About: "Stops a " + n.One + " (SIGSTOP), until \"resume NODE\".",
		Check: n.Check(map[string]bool{NodeStill: true},
			NodeRule{NodeDead, true, "%s is dead: nothing can be done with it but to restart it"},
			NodeRule{NodeStill, true, "%s stands still already"}),
	}, do}
}

func (n Nodes) Resume(do Doing) *Fault {
	return &Fault{scenario.Form{
		Actor: scenario.ActorLab, Usage: "resume NODE",
		About: "Lets the stopped " + n.One + " go on.",
		Check: n.Check(map[string]bool{NodeStill: false}, NodeRule{NodeStill, false, "%s does not stand still here"}),
	}, do}
}
