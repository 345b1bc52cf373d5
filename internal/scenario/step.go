package scenario

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

func (s Step) String() string { return s.Actor + ": " + s.Text }

// grammar is how the steps of one scenario are written.
type grammar struct {
	clients  []string
	actors   []string           // that are no clients
	forms    map[string][]*Form // by actor; "" of a client
	lacking  []*Form            // those about a network that is not there
	reserved []string           // words that stand where a client's name could stand
	nodes    *regexp.Regexp     // and the names of the lock service's nodes
}

func (g *grammar) isReserved(word string) bool {
	return slices.Contains(g.reserved, word) || g.nodes.MatchString(word)
}

func (l *Language) grammar(s *Service, clients []string) *grammar {
	return &grammar{clients, s.actors(), l.forms(s), l.lacking(s), slices.Concat(s.actors(), []string{TargetStorage, nameOfStep}, s.Words), regexp.MustCompile("^(?:" + s.Nodes + ")$")}
}

// inUnits is a duration in seconds, or milliseconds where need be.
func inUnits(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}

type placedStep struct {
	Step
	text word
}

func (d *stepDoc) read(n *strictyaml.Node) error {
	if _, ok := strictyaml.Pairs(n); !ok {
		return errorAt(n, "want \"actor: what it does\", like \"client1: lock\"")
	}
	if err := d.named.read(n); err != nil {
		return err
	}
	if len(d.entries) == 2 && d.entries[1].key.text == nameOfStep {
		d.name = d.entries[1].value
		d.entries = d.entries[:1]
	}
	if len(d.entries) > 1 {
		return errorAt(d.entries[1].key.node, "a step is one \"actor: what it does\", and can have a \"name: …\" below it: begin the next with \"- \"")
	}
	return nil
}

func parseSteps(list stepList, g *grammar) ([]placedStep, error) {
	var steps []placedStep
	for _, item := range list {
		actor, text := item.entries[0].key, item.entries[0].value
		step, err := g.parse(actor.text, text.text)
		if _, known := g.formsOf(actor.text); !known {
			text = actor
		}
		if err != nil {
			return nil, errorAt(text.node, "%v", err)
		}
		step.Line, step.Column = actor.node.Line, actor.node.Column
		if step.Name = item.name.text; step.Name != "" {
			if err := checkStepName(item.name, step, steps); err != nil {
				return nil, err
			}
		}
		steps = append(steps, placedStep{step, text})
	}
	return steps, nil
}

// nameOfStep is the key below a step's text that gives it a name.
const nameOfStep = "name"

// checkStepName holds steps to names that no other has, and of whose outcome something can be expected.
func checkStepName(name word, step Step, before []placedStep) error {
	if err := checkName("step", name); err != nil {
		return err
	}
	if slices.ContainsFunc(before, func(s placedStep) bool { return s.Name == name.text }) {
		return errorAt(name.node, "two steps have the name %q", name.text)
	}
	if step.Form.Actor != "" || step.Verb == Await {
		return errorAt(name.node, "only a step by which a client asks for something can have a name: nothing can be expected of this one")
	}
	return nil
}

// formsOf are those of an actor's steps; known: there is such an actor.
func (g *grammar) formsOf(actor string) (list []*Form, known bool) {
	if slices.Contains(g.clients, actor) {
		return g.forms[""], true
	}
	return g.forms[actor], slices.Contains(g.actors, actor)
}

func (g *grammar) parse(actor, text string) (Step, error) {
	step := Step{Text: text, Actor: actor, Client: actor}
	list, known := g.formsOf(actor)
	if !known {
		return step, fmt.Errorf("unknown actor %q%s", actor, Hint(actor, slices.Concat(g.clients, g.actors)))
	}
	for _, f := range list {
		groups, ok := f.match(text)
		if !ok || slices.Contains(noLock, groups["lock"]) {
			continue
		}
		step.ID, step.Form, step.Verb, step.Send, step.Other = f.ID(), f, f.Verb(), f.sent(), f.Other
		if f.Target != "" {
			step.Client = f.Target
		}
		if client, ok := groups["client"]; ok {
			switch {
			case g.isReserved(client):
				return step, g.unknownForm(text, actor, list)
			case !slices.Contains(g.clients, client):
				return step, fmt.Errorf("unknown client %q%s", client, Hint(client, g.clients))
			}
			step.Client = client
		}
		return step, step.take(groups)
	}
	for _, f := range g.lacking {
		if _, ok := f.match(text); ok {
			return step, fmt.Errorf("clients reach %s without a network: this cuts nothing. Leave it out", f.Other)
		}
	}
	return step, g.unknownForm(text, actor, list)
}

func (s *Step) take(groups map[string]string) error {
	s.Key, s.Value, s.Lock, s.Node = groups["key"], groups["value"], groups["lock"], groups["node"]
	for pair := range strings.FieldsSeq(groups["changes"]) {
		key, value, _ := strings.Cut(pair, "=")
		if slices.ContainsFunc(s.Changes, func(c history.Change) bool { return c.Key == key }) {
			return fmt.Errorf("this changes %q twice", key)
		}
		s.Changes = append(s.Changes, history.Change{Key: key, Value: value})
	}
	if times := groups["times"]; times != "" {
		s.Times, _ = strconv.Atoi(times) // its pattern has its bounds
	}
	if long := groups["time"]; long != "" {
		var ok bool
		if s.For, ok = duration(long); !ok {
			return fmt.Errorf("%s is too long: want %s or less", long, inUnits(longest))
		}
	}
	return nil
}

// unknownForm says what was meant: how the verb is used, the nearest verb, or who has it.
func (g *grammar) unknownForm(text, actor string, list []*Form) error {
	verb := firstWord(text)
	if uses := usages(list, verb, ""); len(uses) > 0 {
		return fmt.Errorf("want %s%s", either(uses), meanings(uses))
	}
	who := actor
	if _, own := g.forms[actor]; !own {
		who = "a client"
	}
	for _, other := range append([]string{""}, g.actors...) {
		prefix := cmp.Or(other, "CLIENT") + ": "
		if uses := usages(g.forms[other], verb, prefix); len(uses) > 0 {
			return fmt.Errorf("%s cannot %q: did you mean %s?", who, verb, either(uses))
		}
	}
	return fmt.Errorf("%s cannot %q%s", who, verb, Hint(verb, firstWords(list)))
}

// usages are the forms that begin with a word, behind a prefix, quoted.
func usages(list []*Form, first, prefix string) []string {
	var uses []string
	for _, f := range list {
		if firstWord(f.Usage) == first {
			uses = append(uses, fmt.Sprintf("%q", prefix+f.Usage))
		}
	}
	return uses
}

// meanings says how the words in capitals are written that are not free.
func meanings(uses []string) string {
	switch all := strings.Join(uses, " "); {
	case strings.Contains(all, "TIMES"):
		return "; TIMES is a whole number from 1 to 1000"
	case strings.Contains(all, "TIME"):
		return "; TIME is like 500ms, 6s or 2m"
	}
	return ""
}
