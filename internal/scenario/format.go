package scenario

import (
	_ "embed"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Format writes a scenario with one variant, of these steps and this verdict. Parse reads it.
func (l *Language) Format(s *Scenario, v *Variant, steps []Step, verdict string) ([]byte, error) {
	var clients strictyaml.Mapping
	for _, name := range s.Clients {
		chosen := strictyaml.Mapping{{Key: lockName, Value: v.Clients[name].Lock}}
		chosen = append(chosen, formatted(l.service(v.World.Service).clientSettings()[1:], v.Clients[name].Values)...)
		clients = append(clients, strictyaml.Entry{Key: name, Value: chosen})
	}
	lines := []strictyaml.Mapping{}
	for _, step := range steps {
		lines = append(lines, strictyaml.Mapping{{Key: step.Actor, Value: step.Text}})
	}
	variant := filled(strictyaml.Mapping{{Key: "about", Value: v.About}, {Key: "expect", Value: strictyaml.Mapping{{Key: "verdict", Value: verdict}}}})
	text, err := strictyaml.Write(filled(strictyaml.Mapping{
		{Key: "title", Value: s.Title}, {Key: "lesson", Value: s.Lesson}, {Key: "helps", Value: s.Helps}, {Key: "source", Value: s.Source},
		{Key: "world", Value: l.formatWorld(v)}, {Key: "together", Value: writtenTogether(s, steps)}, {Key: "clients", Value: clients},
		{Key: "steps", Value: lines}, {Key: "variants", Value: strictyaml.Mapping{{Key: v.Name, Value: variant}}},
	}))
	if err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	return text, nil
}

// filled leaves out what has no value.
func filled(m strictyaml.Mapping) strictyaml.Mapping {
	return slices.DeleteFunc(m, func(e strictyaml.Entry) bool { return reflect.ValueOf(e.Value).IsZero() })
}

// formatWorld is what a variant's clients meet, but for defaults. The lock service is always named.
func (l *Language) formatWorld(v *Variant) strictyaml.Mapping {
	servers := append(strictyaml.Mapping{}, formatted(l.service(v.World.Service).World, v.World.Settings)...)
	own := setting.Values{"in": v.World.Storage.In, "engine": v.World.Storage.Engine, "fencing": v.World.Storage.Fencing, "bound": v.World.Storage.Bound}
	return filled(strictyaml.Mapping{
		{Key: v.World.Service, Value: servers}, {Key: storageName, Value: formatted(storageSettings, own)}, {Key: pausesName, Value: v.World.Pauses},
	})
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

//go:embed template.yaml
var template string

// Template is a new scenario, whose comments teach the language. name is the file's, without .yaml.
func Template(name string) []byte {
	file := name + ".yaml"
	if !plainFile.MatchString(file) {
		file = strconv.QuoteToASCII(file)
	}
	return []byte(strings.Replace(template, "NAME", file, 1))
}

// plainFile are names that a shell takes as they are.
var plainFile = regexp.MustCompile(`^[A-Za-z0-9./_-]+$`)
