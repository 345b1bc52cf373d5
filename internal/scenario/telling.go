package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Telling is a story that is told step by step, each checked where the story stands. The variant's steps are a
// plan, which need not be kept to. It is not for several goroutines at once.
type Telling struct {
	scenario *Scenario
	variant  *Variant
	service  *Service
	grammar  *grammar
	told     []Step
}

func (l *Language) Tell(s *Scenario, v *Variant) *Telling {
	service := l.service(v.World.Service)
	return &Telling{s, v, service, l.grammar(service, s.Clients), nil}
}

func (t *Telling) Told() []Step { return slices.Clone(t.told) }

// Client is where a client stands in the story.
func (t *Telling) Client(name string) ClientStory { return *t.Now().Clients[name] }

// Take takes a step, as in "client1: lock", if it can happen now. The error says why it cannot.
func (t *Telling) Take(line string) (Step, error) {
	step, err := t.Parse(line)
	if err != nil {
		return step, err
	}
	if wrong := t.wrong(t.Now(), step); wrong != "" {
		return step, errors.New(wrong)
	}
	step.Line = len(t.told) + 1
	t.told = append(t.told, step)
	return step, nil
}

// CanEnd says why the story cannot end now; nil: it can.
func (t *Telling) CanEnd() error {
	if wrong := t.Now().checkEnd(); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// Parse reads a step, whether or not it can happen now.
func (t *Telling) Parse(line string) (Step, error) {
	if strings.ContainsFunc(line, unprintable) || strings.ContainsAny(line, "\n\t") {
		return Step{}, fmt.Errorf("a step is one line without control characters: %q", line)
	}
	actor, text, is := strings.Cut(strings.TrimSpace(line), ":")
	text = strings.TrimSpace(text)
	if !is || text == "" {
		return Step{}, fmt.Errorf("%q is no step: want \"actor: what it does\", like \"client1: lock\"", line)
	}
	return t.grammar.parse(actor, text)
}

// Now is where the story stands, by its steps alone: what may be, and not what came of them.
func (t *Telling) Now() *Story {
	s := &Story{Variant: t.variant, Names: t.scenario.Clients, service: t.service}
	s.begin()
	for _, step := range t.told {
		s.check(step) // which found nothing wrong when it was taken
	}
	return s
}

// wrong says why a step cannot come now. The world has only the locks and faults of which the plan speaks.
func (t *Telling) wrong(s *Story, step Step) string {
	if locks := t.variant.Locks(); step.Lock != "" && !slices.Contains(locks, step.Lock) {
		return fmt.Sprintf("this world has no lock %q%s", step.Lock, Hint(step.Lock, locks))
	}
	ofService := slices.ContainsFunc(t.service.Forms, func(f *Form) bool { return f.ID() == step.ID })
	if ofService && !t.variant.Has(step.Form) {
		return fmt.Sprintf("%q is a fault of %s for which this world is not made: load a scenario that has such a step", step.Text, t.service.Name)
	}
	return s.check(step)
}

type Choice struct {
	Step  Step
	About string // what happens, in sentences
}

// Choices are steps that can come next, one of each form and client, in their order, but for those that
// are often in vain: that only wait, or retry, and sends, unless something keeps the client or its network waiting.
func (t *Telling) Choices() (list []Choice) {
	for _, actor := range slices.Concat(t.grammar.clients, t.grammar.actors) {
		forms, _ := t.grammar.formsOf(actor)
		for _, f := range forms {
			if !t.proposes(f, actor) {
				continue
			}
			for _, text := range t.examples(f, actor) {
				step, err := t.Parse(actor + ": " + text)
				known := slices.ContainsFunc(list, func(c Choice) bool { return c.Step.String() == step.String() })
				if err == nil && !known && t.wrong(t.Now(), step) == "" {
					list = append(list, Choice{step, f.About})
				}
			}
		}
	}
	return list
}

func (t *Telling) proposes(f *Form, actor string) bool {
	c := t.Now().Clients[actor]
	switch {
	case f.Verb() == Retry:
		return false
	case f.sent():
		return c != nil && (c.Stopped != "" || c.Delayed)
	}
	return f.Verb() != Await || f.Actor == ActorLab
}

// examples are texts of a form: of one about a client, one for each client.
func (t *Telling) examples(f *Form, actor string) (texts []string) {
	key, writes := t.key(), 1
	for _, s := range t.told {
		if s.Actor == actor && s.Key+s.Value != "" {
			writes++
		}
	}
	value := fmt.Sprintf("%s-%d", actor, writes)
	text := strings.NewReplacer(
		"KEY=VALUE KEY=VALUE …", fmt.Sprintf("%s=%s other=%[2]s", key, value),
		"KEY=VALUE", key+"="+value,
		"KEY TIMES", key+" 5",
		"KEY", key,
		" [within TIME]", " within 10s",
		" [for TIME]", "", " [under NAME]", "", " [of NAME]", "", " [NAME]", "",
		"TIME", "10s",
	).Replace(f.Usage)
	if !strings.Contains(text, "CLIENT") {
		return []string{text}
	}
	for _, client := range t.grammar.clients {
		texts = append(texts, strings.ReplaceAll(text, "CLIENT", client))
	}
	return texts
}

// key is one that the story, or the plan, speaks of.
func (t *Telling) key() string {
	for _, s := range slices.Concat(t.told, t.variant.Steps) {
		if s.Key != "" {
			return s.Key
		}
	}
	return "key0"
}
