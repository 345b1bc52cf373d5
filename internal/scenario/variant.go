package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// variant makes a variant of a scenario with some settings, and says which keys its steps write.
func (d *document) variant(e entry[variantDoc], of *settings) (Variant, []string, error) {
	doc, set := e.value, of.clone()
	for _, change := range doc.Set.entries {
		if err := set.change(change.key, change.value.node); err != nil {
			return Variant{}, nil, err
		}
	}
	if err := set.check(); err != nil {
		return Variant{}, nil, err
	}
	v := Variant{
		Name: e.key.text, About: strings.TrimSpace(doc.About.text), Control: doc.Control.yes(),
		World: set.world(), Clients: set.asClients(),
	}
	list := doc.Steps
	if list == nil {
		list = d.Steps
	}
	steps, err := parseSteps(list, d.grammar)
	if err != nil {
		return Variant{}, nil, err
	}
	for _, step := range steps {
		v.Steps = append(v.Steps, step.Step)
	}
	told := &Story{Variant: &v, Names: set.names, service: set.service}
	if wrong := told.follow(steps); wrong != nil {
		if doc.Steps == nil && len(doc.Set.entries) > 0 {
			wrong.Text = fmt.Sprintf("in variant %q, %s", v.Name, wrong.Text)
		}
		return v, nil, wrong
	}
	if v.World.Pauses > 0 && !told.Counts {
		return v, nil, errorAt(set.own.nodes[pausesName], "pauses disturb a count, but variant %q has no step \"clients: count …\"", v.Name)
	}
	v.Own = set.service.own(&v)
	v.Expect, err = doc.Expect.expect(&v, told, set.service)
	return v, sorted(told.Written), err
}

// own is why a variant needs servers of its own, in words.
func (s *Service) own(v *Variant) string {
	var why []string
	if s.Own != nil {
		why = s.Own(v.World.Settings, v.Clients)
	}
	for _, step := range v.Steps {
		if reason := step.Form.Own; reason != "" && !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	if len(why) == 0 {
		return ""
	}
	last := len(why) - 1
	return "it " + strings.TrimPrefix(strings.Join(why[:last], ", ")+" and "+why[last], " and ")
}

// expect reads the expectations, and refuses those that no run could meet.
func (d *expectDoc) expect(v *Variant, told *Story, service *Service) (history.Expect, error) {
	e := history.Expect{
		Verdict: d.Verdict.text, Stale: d.Stale.pointer(), Refused: d.Refused.pointer(),
		Ordered: d.Ordered.pointer(), Exclusive: d.Exclusive.pointer(), Fair: d.Fair.pointer(), Fenced: d.Fenced.pointer(),
	}
	if v.Control && e.Verdict == history.Safe {
		return e, errorAt(d.Verdict.node, "a control must fail in the way that the scenario teaches: want corrupted or blocked")
	}
	if d.Fair.given() && service.Unqueued {
		return e, errorAt(d.Fair.node, "whether %s is fair cannot be judged: it does not tell who waits for a lock. Leave \"fair\" out", service.Name)
	}
	for _, number := range []*whole{&d.Stale, &d.Refused} {
		if number.number() > told.Requests && !told.Counts {
			return e, errorAt(number.node, "%d requests cannot be refused: the steps make at most %d", number.number(), told.Requests)
		}
	}
	if d.Stale.given() && d.Refused.given() && d.Stale.number() > d.Refused.number() {
		return e, errorAt(d.Stale.node, "%d requests cannot be refused as stale, if %d are refused", d.Stale.number(), d.Refused.number())
	}
	for _, f := range d.Final.entries {
		key := f.key.text
		if !told.Written[key] {
			return e, errorAt(f.key.node, "no step writes %q%s", key, Hint(key, sorted(told.Written)))
		}
		if wrong := told.cannotHold(key, f.value.text); wrong != "" {
			return e, errorAt(f.value.node, "%s; without \"final\" the story runs", wrong)
		}
		if e.Final == nil {
			e.Final = make(map[string]string)
		}
		e.Final[key] = f.value.text
	}
	for _, key := range d.Missing {
		_, holds := e.Final[key.text]
		switch {
		case !told.Written[key.text]:
			return e, errorAt(key.node, "no step writes %q%s", key.text, Hint(key.text, sorted(told.Written)))
		case holds:
			return e, errorAt(key.node, "%q cannot be missing: \"final\" says what it holds", key.text)
		}
		e.Missing = append(e.Missing, key.text)
	}
	return e, d.expectSteps(&e, v, told)
}

func (d *expectDoc) expectSteps(e *history.Expect, v *Variant, told *Story) error {
	known, reads := make(map[string]bool), make(map[string]string) // name → key
	for _, s := range v.Steps {
		if s.Name != "" {
			known[s.Name] = true
		}
		if s.Verb == Read {
			reads[s.Name] = s.Key
		}
	}
	for _, o := range d.Steps.entries {
		name, text := o.key.text, o.value.text
		switch {
		case !known[name]:
			return errorAt(o.key.node, "no step has the name %q%s", name, Hint(name, sorted(known)))
		case !slices.Contains(history.StepOutcomes, text) && !strings.HasPrefix(text, history.StepFound):
			return errorAt(o.value.node, "a step cannot end as %q%s", text, Hint(text, append(slices.Clone(history.StepOutcomes), history.StepFound+"VALUE")))
		}
		if value, found := strings.CutPrefix(text, history.StepFound); found && reads[name] != "" && text != history.StepNothing {
			if wrong := told.cannotHold(reads[name], value); wrong != "" {
				return errorAt(o.value.node, "%s", wrong)
			}
		}
		if e.Steps == nil {
			e.Steps = make(map[string]string)
		}
		e.Steps[name] = text
	}
	return nil
}
