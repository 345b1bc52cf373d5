package scenario

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Format writes a scenario with one variant, whose story is these steps and whose
// expected verdict is this one. Parse reads what Format writes.
func (l *Language) Format(s *Scenario, v *Variant, steps []Step, verdict string) ([]byte, error) {
	doc := strictyaml.Mapping{{Key: "title", Value: s.Title}}
	for _, text := range []strictyaml.Entry{{Key: "lesson", Value: s.Lesson}, {Key: "helps", Value: s.Helps}, {Key: "source", Value: s.Source}} {
		if text.Value != "" {
			doc = append(doc, text)
		}
	}
	doc = append(doc, strictyaml.Entry{Key: "world", Value: l.formatWorld(v)})
	if together := writtenTogether(s, steps); len(together) > 0 {
		doc = append(doc, strictyaml.Entry{Key: "together", Value: together})
	}
	var clients strictyaml.Mapping
	for _, name := range s.Clients {
		c := v.Clients[name]
		chosen := strictyaml.Mapping{{Key: lockName, Value: c.Lock}}
		chosen = append(chosen, formatted(l.service(v.World.Service).clientSettings()[1:], c.Values)...)
		clients = append(clients, strictyaml.Entry{Key: name, Value: chosen})
	}
	var lines []strictyaml.Mapping
	for _, step := range steps {
		lines = append(lines, strictyaml.Mapping{{Key: step.Actor, Value: step.Text}})
	}
	variant := strictyaml.Mapping{}
	if v.About != "" {
		variant = append(variant, strictyaml.Entry{Key: "about", Value: v.About})
	}
	variant = append(variant, strictyaml.Entry{Key: "expect", Value: strictyaml.Mapping{{Key: "verdict", Value: verdict}}})
	doc = append(doc,
		strictyaml.Entry{Key: "clients", Value: clients},
		strictyaml.Entry{Key: "steps", Value: lines},
		strictyaml.Entry{Key: "variants", Value: strictyaml.Mapping{{Key: v.Name, Value: variant}}})
	text, err := strictyaml.Write(doc)
	if err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	return text, nil
}

// formatWorld is what a variant's clients meet, where that is not the default. The lock
// service is always named.
func (l *Language) formatWorld(v *Variant) strictyaml.Mapping {
	servers := formatted(l.service(v.World.Service).World, v.World.Settings)
	if servers == nil {
		servers = strictyaml.Mapping{}
	}
	world := strictyaml.Mapping{{Key: v.World.Service, Value: servers}}
	own := v.World.Storage
	storage := formatted(storageSettings, setting.Values{"in": own.In, "engine": own.Engine, "fencing": own.Fencing, "bound": own.Bound})
	if len(storage) > 0 {
		world = append(world, strictyaml.Entry{Key: storageName, Value: storage})
	}
	if v.World.Pauses > 0 {
		world = append(world, strictyaml.Entry{Key: pausesName, Value: v.World.Pauses})
	}
	return world
}

// formatted are the values that are not the defaults.
func formatted(list []setting.Setting, values setting.Values) (chosen strictyaml.Mapping) {
	for _, s := range list {
		text, given := values[s.Name]
		if !given || text == s.Default {
			continue
		}
		var value any = text
		switch s.Kind {
		case setting.Number:
			value = values.Number(s.Name)
		case setting.Flag:
			value, _ = strconv.ParseBool(text) // which the parser has looked at
		}
		chosen = append(chosen, strictyaml.Entry{Key: s.Name, Value: value})
	}
	return chosen
}

// writtenTogether are the scenario's sets of keys that these steps write.
func writtenTogether(s *Scenario, steps []Step) (sets [][]string) {
	var written []string
	for _, step := range steps {
		if step.Verb != Read {
			written = append(written, step.Keys()...)
		}
	}
	for _, set := range s.Together {
		if !slices.ContainsFunc(set, func(key string) bool { return !slices.Contains(written, key) }) {
			sets = append(sets, set)
		}
	}
	return sets
}
