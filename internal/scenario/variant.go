package scenario

import (
	"maps"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencelab/fencelab/internal/history"
)

// newVariant is the world as the file has it, with what the variant sets.
func newVariant(e entry[variation], w World, clients map[string]Client) (Variant, error) {
	if !plainName.MatchString(e.name) {
		return Variant{}, errorAt(e.node, "%q is no name for a variant: want small letters, digits and -", e.name)
	}
	v := Variant{Name: e.name, Control: e.value.Control, World: w, Clients: maps.Clone(clients)}
	for _, set := range e.value.Set.entries {
		if err := v.set(set); err != nil {
			return v, err
		}
	}
	if err := v.check(e.node); err != nil {
		return v, err
	}
	expect := e.value.Expect
	if expect.Verdict.text == "" {
		return v, errorAt(e.node, "variant %q expects no verdict: want \"expect: {verdict: …}\"", e.name)
	}
	if err := oneOf(expect.Verdict.node, "verdict", expect.Verdict.text, history.Verdicts...); err != nil {
		return v, err
	}
	if expect.Stale != nil && *expect.Stale < 0 {
		return v, errorAt(expect.Verdict.node, "variant %q expects %d stale requests, want 0 or more", e.name, *expect.Stale)
	}
	v.Expect = history.Expect{Verdict: expect.Verdict.text, Stale: expect.Stale, Final: expect.Final}
	return v, nil
}

// set changes one thing, by its path: storage.fencing, or clients.NAME.token.
func (v *Variant) set(e entry[words]) error {
	if e.name == "storage.fencing" {
		v.World.Storage.Fencing = e.value.text
		return nil
	}
	if rest, ok := strings.CutPrefix(e.name, "clients."); ok {
		if name, ok := strings.CutSuffix(rest, ".token"); ok {
			c, known := v.Clients[name]
			if !known {
				return errorAt(e.node, "unknown client %q", name)
			}
			c.Token = e.value.text
			v.Clients[name] = c
			return checkToken(e.value.node, c.Token)
		}
	}
	return errorAt(e.node, "cannot set %q, only storage.fencing and clients.NAME.token", e.name)
}

func (v *Variant) check(n ast.Node) error {
	if v.World.Etcd.Members != 1 {
		return errorAt(n, "variant %q wants %d etcd members, and only 1 can be had", v.Name, v.World.Etcd.Members)
	}
	if err := oneOf(n, "storage engine", v.World.Storage.Engine, "memory", "bolt"); err != nil {
		return err
	}
	return oneOf(n, "storage.fencing", v.World.Storage.Fencing, "on", "off")
}
