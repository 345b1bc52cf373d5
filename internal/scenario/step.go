package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencelab/fencelab/internal/history"
)

// String is the step as a scenario can have it.
func (s Step) String() string {
	words := []string{s.Actor + ":"}
	if s.Send {
		words = append(words, "send")
	}
	words = append(words, string(s.Verb))
	if s.Client != s.Actor {
		words = append(words, s.Client)
	}
	switch {
	case s.Service != "" && s.Verb == Partition:
		words = append(words, "from", s.Service)
	case s.Service != "":
		words = append(words, "to", s.Service)
	case s.For > 0:
		words = append(words, "for", inUnits(s.For))
	case len(s.Changes) > 0:
		if s.Verb == Begin {
			words = append(words, string(Change))
		}
		for _, c := range s.Changes {
			words = append(words, c.Key+"="+c.Value)
		}
	case s.Verb == Begin:
		words = append(words, string(Write), s.Key+"="+s.Value)
	case s.Verb == Write:
		words = append(words, s.Key+"="+s.Value)
	case s.Verb == Count:
		words = append(words, s.Key, strconv.Itoa(s.Times))
	case s.Key != "":
		words = append(words, s.Key)
	}
	return strings.Join(words, " ")
}

// Command is a client's step as its agent reads it (see "client agent --help").
func (s Step) Command() string { return strings.TrimPrefix(s.String(), s.Actor+": ") }

// inUnits is a duration in seconds, or milliseconds where need be.
func inUnits(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%dms", d.Milliseconds())
}

// placedStep is a step and the place of its text.
type placedStep struct {
	Step
	text word
}

func (d *stepDoc) read(n ast.Node) error {
	if _, ok := pairsOf(n); !ok {
		return errorAt(n, "want \"actor: what it does\", like \"client1: lock\"")
	}
	if err := d.named.read(n); err != nil {
		return err
	}
	if len(d.entries) > 1 {
		return errorAt(d.entries[1].key.node, "a step is one \"actor: what it does\": begin the next with \"- \"")
	}
	return nil
}

func parseSteps(list stepList, clients []string) ([]placedStep, error) {
	var steps []placedStep
	for _, item := range list {
		step, err := parseStep(item.entries[0], clients)
		if err != nil {
			return nil, err
		}
		steps = append(steps, placedStep{step, item.entries[0].value})
	}
	return steps, nil
}

func parseStep(e entry[word], clients []string) (Step, error) {
	actor, text := e.key.text, e.value.text
	at := e.key.node.GetToken().Position
	step := Step{Actor: actor, Client: actor, Line: at.Line, Column: at.Column}
	list := forms[actor]
	switch {
	case slices.Contains(clients, actor):
		list = forms[""]
	case !slices.Contains(actors, actor):
		return step, errorAt(e.key.node, "unknown actor %q%s", actor, hint(actor, slices.Concat(clients, actors)))
	}
	for _, f := range list {
		groups, ok := f.match(text)
		if !ok {
			continue
		}
		step.Verb, step.Send, step.Service = f.verb, f.sent(), f.service
		if f.target != "" {
			step.Client = f.target
		}
		if client, ok := groups["client"]; ok {
			switch {
			case slices.Contains(reserved, client):
				return step, unknownForm(e.value, actor, list)
			case !slices.Contains(clients, client):
				return step, errorAt(e.value.node, "unknown client %q%s", client, hint(client, clients))
			}
			step.Client = client
		}
		return step, step.take(groups, e.value)
	}
	return step, unknownForm(e.value, actor, list)
}

// take fills in what the groups of a form hold.
func (s *Step) take(groups map[string]string, at word) error {
	s.Key, s.Value = groups["key"], groups["value"]
	for pair := range strings.FieldsSeq(groups["changes"]) {
		key, value, _ := strings.Cut(pair, "=")
		if slices.ContainsFunc(s.Changes, func(c history.Change) bool { return c.Key == key }) {
			return errorAt(at.node, "this changes %q twice", key)
		}
		s.Changes = append(s.Changes, history.Change{Key: key, Value: value})
	}
	if times, given := groups["times"]; given {
		s.Times, _ = strconv.Atoi(times) // its pattern has its bounds
	}
	if long, given := groups["time"]; given {
		var ok bool
		if s.For, ok = duration(long); !ok {
			return errorAt(at.node, "%s is too long: want %s or less", long, inUnits(longest))
		}
	}
	return nil
}

// unknownForm says what was meant instead: how the verb is used, the nearest
// verb, or the actor that has it.
func unknownForm(text word, actor string, list []form) error {
	verb := firstWord(text.text)
	if uses := usages(list, verb, ""); len(uses) > 0 {
		return errorAt(text.node, "want %s%s", either(uses), meanings(uses))
	}
	who := actor
	if _, own := forms[actor]; !own {
		who = "a client"
	}
	for _, other := range append([]string{""}, actors...) {
		prefix := cmp.Or(other, "CLIENT") + ": "
		if uses := usages(forms[other], verb, prefix); len(uses) > 0 {
			return errorAt(text.node, "%s cannot %q: did you mean %s?", who, verb, either(uses))
		}
	}
	return errorAt(text.node, "%s cannot %q%s", who, verb, hint(verb, firstWords(list)))
}

// usages are the forms that begin with a word, behind a prefix, quoted.
func usages(list []form, first, prefix string) []string {
	var uses []string
	for _, f := range list {
		if firstWord(f.usage) == first {
			uses = append(uses, fmt.Sprintf("%q", prefix+f.usage))
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
