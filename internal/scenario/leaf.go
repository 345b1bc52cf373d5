package scenario

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// leaf is a value of one piece: a scalar of the file or a list of scalars.
type leaf interface {
	kind() setting.Kind
	at() *place
}

// place is a value as it is written, and where it stands; the node is nil where it is a default.
type place struct {
	node *strictyaml.Node
	text string
}

func (p *place) at() *place { return p }

func (p *place) given() bool { return p.node != nil }

type (
	word  struct{ place } // a text
	plain struct{ place } // a text or what looks like another kind of scalar, as it is written
	whole struct{ place } // a whole number
	flag  struct{ place } // true or false
)

func (*word) kind() setting.Kind  { return setting.Text }
func (*plain) kind() setting.Kind { return anyScalar }
func (*whole) kind() setting.Kind { return setting.Number }
func (*flag) kind() setting.Kind  { return setting.Flag }

// anyScalar is the kind of plain, which no setting has.
const anyScalar setting.Kind = -1

// number is 0 where the file does not have it.
func (w *whole) number() int {
	n, _ := strconv.Atoi(w.text) // as it was read
	return n
}

func (f *flag) yes() bool { return f.text == "true" }

func (w *whole) pointer() *int { return optional(w.place, w.number()) }
func (f *flag) pointer() *bool { return optional(f.place, f.yes()) }

// optional is nil where the file does not have the value.
func optional[T any](p place, value T) *T {
	if !p.given() {
		return nil
	}
	return &value
}

// kinds are what values of each kind look like, which of these can be taken, and that in words.
var kinds = map[setting.Kind]struct {
	is   func(*strictyaml.Node) bool
	take func(text string) bool
	want string
}{
	setting.Text:   {strictyaml.IsText, anyText, "a text"},
	setting.Number: {strictyaml.IsWhole, isWhole, "a whole number, like 3"},
	setting.Flag:   {strictyaml.IsFlag, isFlag, "true or false"},
	setting.Time:   {strictyaml.IsText, isDuration, "a duration, like 5s or 500ms"},
	setting.Words:  {isList, anyText, "a list of texts, like [python3, client.py]"},
	anyScalar:      {strictyaml.IsScalar, anyText, "a text"},
}

func anyText(string) bool { return true }

func isFlag(text string) bool { return text == "true" || text == "false" }

func isWhole(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && strconv.Itoa(n) == text
}

func isList(n *strictyaml.Node) bool {
	items, ok := strictyaml.Items(n)
	return ok && len(items) > 0 && !slices.ContainsFunc(items, func(item *strictyaml.Node) bool { return !strictyaml.IsScalar(item) })
}

// textOf is a scalar as it is written: 010 is 010, not 8. A list of scalars is a JSON array.
func textOf(n *strictyaml.Node) string {
	items, ok := strictyaml.Items(n)
	if !ok {
		return n.Value
	}
	var texts []string
	for _, item := range items {
		texts = append(texts, item.Value)
	}
	list, _ := json.Marshal(texts) // texts can be written
	return string(list)
}

// longest is the longest time that a scenario can have. Far longer ones cannot be added up.
const longest = 24 * time.Hour

// duration is a time as it is written; ok if it is one, and not too long.
func duration(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d <= longest
}

func isDuration(text string) bool {
	_, ok := duration(text)
	return ok
}

// readLeaf takes what a setting is chosen to be. One without a name stands alone, like an item of a list.
func readLeaf(n *strictyaml.Node, s setting.Setting) (place, error) {
	chosen, kind := place{n, textOf(n)}, kinds[s.Kind]
	text, name := chosen.text, ""
	if s.Name != "" {
		name = strconv.Quote(s.Name) + ": "
	}
	fits := s.Pattern == "" || regexp.MustCompile(s.Pattern).MatchString(text)
	switch {
	case kind.is(n) && fits && s.Kind == setting.Time && !kind.take(text): // it looks like one, and so is only too long
		return chosen, errorAt(n, "%q cannot be %s: want %s or less", s.Name, text, inUnits(longest))
	case !kind.is(n) || !fits || !kind.take(text):
		return chosen, errorAt(n, "%swant %s", name, wanted(n, s, fits))
	case s.Of != nil && !slices.Contains(s.Of, text):
		return chosen, errorAt(n, "%q cannot be %s%s", s.Name, text, Hint(text, s.Of))
	case s.Kind == setting.Number && strings.HasPrefix(text, "-"):
		return chosen, errorAt(n, "%q cannot be %s: want 0 or more", s.Name, text)
	}
	return chosen, nil
}

// wanted says what a value can be. That it can be quoted is said only where that is all that is wrong.
func wanted(n *strictyaml.Node, s setting.Setting, fits bool) string {
	quotable := strictyaml.IsScalar(n) && !kinds[s.Kind].is(n) && s.Pattern != "" && fits
	switch {
	case s.Of != nil && s.Kind == setting.Number:
		return "a whole number: " + either(s.Of)
	case s.Of != nil:
		return either(s.Of)
	case s.Want != "" && !quotable:
		return s.Want
	case s.Kind == setting.Text && strictyaml.IsScalar(n):
		return "a text: quote it, like " + strconv.Quote(n.Value)
	}
	return kinds[s.Kind].want
}

// anything is a value that is read later, when it is known what it is for.
type anything struct{ node *strictyaml.Node }

func (a *anything) read(n *strictyaml.Node) error { a.node = n; return nil }

// named is a mapping with names of one's own. Its order counts.
type named[T any] struct{ entries []entry[T] }

type entry[T any] struct {
	key   word
	value T
}

func (m *named[T]) read(n *strictyaml.Node) error {
	pairs, ok := strictyaml.Pairs(n)
	if !ok {
		return errorAt(n, "want a mapping, like {name: …}")
	}
	if len(pairs) == 0 {
		return errorAt(n, "this mapping is empty")
	}
	for _, pair := range pairs {
		e := entry[T]{key: word{place{pair.Key, pair.Key.Value}}}
		if err := read(pair.Value, &e.value); err != nil {
			return err
		}
		m.entries = append(m.entries, e)
	}
	return nil
}

// Format writes a scenario with one variant, of these steps and this verdict. Parse reads it.
func (l *Language) Format(s *Scenario, v *Variant, steps []Step, verdict string) ([]byte, error) {
	telling := l.Tell(s, v)
	telling.told = steps
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
		{Key: "world", Value: l.formatWorld(v)}, {Key: "together", Value: s.writtenTogether(telling.Now().Written)}, {Key: "clients", Value: clients},
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
func (s *Scenario) writtenTogether(written map[string]bool) (sets [][]string) {
	for _, set := range s.Together {
		if !slices.ContainsFunc(set, func(key string) bool { return !written[key] }) {
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
