package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencelab/fencelab/internal/history"
)

// variant makes a variant, and says which keys its steps write.
func (d *document) variant(e entry[variantDoc], names []string) (Variant, []string, error) {
	doc := e.value
	set := &settings{names: names, world: d.World, clients: make(map[string]clientDoc)}
	for _, c := range d.Clients.entries {
		set.clients[c.key.text] = c.value
	}
	for _, change := range doc.Set.entries {
		if err := set.change(change.key, change.value.node); err != nil {
			return Variant{}, nil, err
		}
	}
	if err := set.check(); err != nil {
		return Variant{}, nil, err
	}
	list := doc.Steps
	if list == nil {
		list = d.Steps
	}
	steps, err := parseSteps(list, names)
	if err != nil {
		return Variant{}, nil, err
	}
	v := Variant{
		Name: e.key.text, About: strings.TrimSpace(doc.About.text), Control: doc.Control.yes,
		World: set.world.world(), Clients: make(map[string]Client),
	}
	for name, c := range set.clients {
		v.Clients[name] = c.client()
	}
	for _, step := range steps {
		v.Steps = append(v.Steps, step.Step)
	}
	tale := &story{variant: &v, names: names}
	if wrong := tale.follow(steps); wrong != nil {
		if doc.Steps == nil && len(doc.Set.entries) > 0 {
			wrong.text = fmt.Sprintf("in variant %q, %s", v.Name, wrong.text)
		}
		return v, nil, wrong
	}
	if pauses := set.world.Pauses; pauses.number > 0 && !tale.counts {
		return v, nil, errorAt(pauses.node, "pauses disturb a count, but variant %q has no step \"clients: count …\"", v.Name)
	}
	v.Expect, err = doc.Expect.expect(&v, tale)
	return v, sorted(tale.written), err
}

// settings are a variant's world and clients.
type settings struct {
	names   []string
	world   worldDoc
	clients map[string]clientDoc
}

// change sets one thing, by its path: storage.fencing, clients.NAME.token or, of
// all clients, clients.*.token.
func (s *settings) change(path word, value ast.Node) error {
	parts := strings.Split(path.text, ".")
	if parts[0] != "clients" || len(parts) != 3 {
		return setField(reflect.ValueOf(&s.world).Elem(), parts, path, value)
	}
	targets := []string{parts[1]}
	if parts[1] == "*" {
		targets = s.names
	}
	for _, name := range targets {
		c, known := s.clients[name]
		if !known {
			return errorAt(path.node, "unknown client %q%s", name, hint(name, append(slices.Clone(s.names), "*")))
		}
		if err := setField(reflect.ValueOf(&c).Elem(), parts[2:], path, value); err != nil {
			return err
		}
		s.clients[name] = c
	}
	return nil
}

// setField sets the field that the rest of a path leads to.
func setField(v reflect.Value, rest []string, path word, value ast.Node) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		rule := ruleOf(f)
		switch {
		case rule.name != rest[0]:
		case rule.required:
			return errorAt(path.node, "cannot set %q: it is part of the story", path.text)
		case rule.leaf && len(rest) == 1:
			return rule.read(value, v.Field(i).Addr().Interface())
		case !rule.leaf && len(rest) > 1:
			return setField(v.Field(i), rest[1:], path, value)
		}
	}
	client := "CLIENT"
	if parts := strings.Split(path.text, "."); len(parts) > 1 && parts[0] == "clients" {
		client = parts[1]
	}
	return errorAt(path.node, "cannot set %q%s", path.text, hint(path.text, paths(client)))
}

// paths are all that can be set, of the world and of a client.
func paths(client string) []string {
	list := pathsOf(reflect.TypeFor[worldDoc](), "")
	return append(list, pathsOf(reflect.TypeFor[clientDoc](), "clients."+client+".")...)
}

func pathsOf(t reflect.Type, prefix string) []string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		switch rule := ruleOf(f); {
		case !rule.leaf:
			list = append(list, pathsOf(f.Type, prefix+rule.name+".")...)
		case !rule.required:
			list = append(list, prefix+rule.name)
		}
	}
	return list
}

// check finds settings that do not go together.
func (s *settings) check() error {
	for _, name := range s.names {
		if err := s.checkSession(name); err != nil {
			return err
		}
		if member := s.clients[name].Member; member.text == MemberFollower && s.world.Etcd.Members.number < 3 {
			return errorAt(member.node, "etcd has one member, which leads, and so no follower: it needs \"members: 3\"")
		}
	}
	storage := s.world.Storage
	wrong := slices.Contains([]string{FencingDiffers, FencingForgetful}, storage.Fencing.text)
	if wrong && storage.Engine.text != EngineMemory {
		return errorAt(storage.Fencing.node, "fencing %q is a wrong check that only the engine memory has, and the engine is %s", storage.Fencing.text, storage.Engine.text)
	}
	if pauses := s.world.Pauses; pauses.number > 0 && pauses.number >= len(s.names) {
		return errorAt(pauses.node, "\"pauses\" cannot be %d with %d clients: want fewer pauses than clients", pauses.number, len(s.names))
	}
	return nil
}

func (s *settings) checkSession(name string) error {
	session := s.clients[name].Session
	if session.text == SessionOwn || session.text == SessionKept {
		return nil
	}
	owner, known := s.clients[session.text]
	others := slices.DeleteFunc(slices.Clone(s.names), func(other string) bool { return other == name })
	switch {
	case session.text == name:
		return errorAt(session.node, "%s cannot share its own session: want own or kept, or another client", name)
	case !known:
		return errorAt(session.node, "\"session\" cannot be %s%s", session.text, hint(session.text, append([]string{SessionOwn, SessionKept}, others...)))
	case owner.Session.text != SessionOwn && owner.Session.text != SessionKept:
		return errorAt(session.node, "%s has no session of its own to share: it shares that of %s", session.text, owner.Session.text)
	}
	return nil
}

// expect reads the expectations, and refuses those that no run could meet.
func (d *expectDoc) expect(v *Variant, tale *story) (history.Expect, error) {
	e := history.Expect{
		Verdict: d.Verdict.text, Stale: d.Stale.pointer(), Refused: d.Refused.pointer(),
		Ordered: d.Ordered.pointer(), Exclusive: d.Exclusive.pointer(), Fenced: d.Fenced.pointer(),
	}
	if v.Control && e.Verdict == history.Safe {
		return e, errorAt(d.Verdict.node, "a control must fail in the way that the scenario teaches: want corrupted or blocked")
	}
	for _, number := range []*whole{&d.Stale, &d.Refused} {
		if number.number > tale.requests && !tale.counts {
			return e, errorAt(number.node, "%d requests cannot be refused: the steps make at most %d", number.number, tale.requests)
		}
	}
	if d.Stale.given() && d.Refused.given() && d.Stale.number > d.Refused.number {
		return e, errorAt(d.Stale.node, "%d requests cannot be refused as stale, if %d are refused", d.Stale.number, d.Refused.number)
	}
	for _, f := range d.Final.entries {
		key := f.key.text
		if !tale.written[key] {
			return e, errorAt(f.key.node, "no step writes %q%s", key, hint(key, sorted(tale.written)))
		}
		if e.Final == nil {
			e.Final = make(map[string]string)
		}
		e.Final[key] = f.value.text
	}
	return e, nil
}
