package service

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/scenario"
)

// What a story says of a node by its name, for NodeRule.
const (
	NodeDead  = "%s is dead"
	NodeStill = "%s stands still"
)

// NodeRule refuses a step about a node of which a fact is so, or is not. The words say
// why; %s is the node.
type NodeRule struct {
	Fact  string
	Is    bool
	Words string
}

// Nodes are those of a service. They are called by its name and a number, from 1 to what
// a setting of the world says.
type Nodes struct{ Name, Setting string }

// Check makes the Check of a scenario.Form about a node. It refuses one that is not there,
// and what rules refuse; else it notes other facts.
func (n Nodes) Check(note map[string]bool, rules ...NodeRule) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		named := func(text string) string { return strings.ReplaceAll(text, "%s", step.Node) }
		nodes := s.Variant.World.Settings.Number(n.Setting)
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

// CheckKill and those below are for the steps that kill a node, start it again, stop it
// and let it go on.
func (n Nodes) CheckKill(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	return n.Check(map[string]bool{NodeDead: true, NodeStill: false}, NodeRule{NodeDead, true, "%s is dead already"})(s, c, step)
}

// CheckRestart is for the step after CheckKill's.
func (n Nodes) CheckRestart(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	return n.Check(map[string]bool{NodeDead: false},
		NodeRule{NodeDead, false, "%s runs: it needs a step \"gcsim: kill %s\" before"})(s, c, step)
}

// CheckPause is for a step that CheckResume's follows.
func (n Nodes) CheckPause(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	return n.Check(map[string]bool{NodeStill: true},
		NodeRule{NodeDead, true, "%s is dead: nothing can be done with it but to restart it"},
		NodeRule{NodeStill, true, "%s stands still already"})(s, c, step)
}

// CheckResume is for the step after CheckPause's.
func (n Nodes) CheckResume(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	return n.Check(map[string]bool{NodeStill: false}, NodeRule{NodeStill, false, "%s does not stand still here"})(s, c, step)
}
