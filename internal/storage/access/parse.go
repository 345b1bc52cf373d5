package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

// kind repeats nothing from the file: anything may be a secret that somebody put there
// by mistake. Below, errors repeat names that were checked.
var kind = strictyaml.Kind{
	Name:   "a tokens file",
	Empty:  "want one YAML document, which begins with \"tokens:\"",
	Second: "a second document begins here: want one YAML document, which begins with \"tokens:\"",
	NoYAML: "no valid YAML: ",
	Secret: true,
}

// parseTokens reads a tokens file. file names it in errors.
func parseTokens(file string, data []byte) ([]entry, error) {
	var p parser
	root, err := kind.Parse(string(data))
	if err == nil {
		p.file(root)
		err = p.err
	}
	if at, ok := errors.AsType[*strictyaml.Error](err); ok {
		return nil, fmt.Errorf("%s:%d:%d: %w", file, at.Line, at.Column, err)
	}
	return p.list, err
}

// parser has what was read so far. After the first mistake nothing counts.
type parser struct {
	list []entry
	err  error // the first mistake
}

func (p *parser) wrong(n *strictyaml.Node, format string, args ...any) {
	if p.err == nil {
		p.err = strictyaml.ErrorAt(n, format, args...)
	}
}

func (p *parser) file(root *strictyaml.Node) {
	tokens := p.fields(root, "tokens")["tokens"]
	if tokens == nil {
		p.wrong(root, "\"tokens\" is missing")
	}
	for _, item := range p.items(tokens) {
		p.token(item)
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func (p *parser) token(n *strictyaml.Node) {
	f := p.fields(n, "name", "sha256", "rights", "scopes", "keys")
	for _, must := range []string{"name", "sha256", "rights"} {
		if f[must] == nil {
			p.wrong(n, "%q is missing in this token", must)
		}
	}
	owner := &Principal{name: p.text(f["name"])}
	switch {
	case !plainName.MatchString(owner.name):
		p.wrong(f["name"], "this is no name: want 1 to 64 letters, digits and . _ @ -, the first a letter or digit")
	case slices.ContainsFunc(p.list, func(e entry) bool { return e.owner.name == owner.name }):
		p.wrong(f["name"], "the name %q is there already; one name may have a list of hashes in \"sha256\"", owner.name)
	}
	for _, item := range p.items(f["rights"]) {
		right := Right(p.text(item))
		switch {
		case !slices.Contains(rights, right):
			p.wrong(item, "unknown right, want read, write, observe or admin")
		case slices.Contains(owner.rights, right):
			p.wrong(item, "the right %q is given twice", right)
		}
		owner.rights = append(owner.rights, right)
	}
	owner.scopes, owner.keys = p.prefixes(f["scopes"]), p.prefixes(f["keys"])
	p.hashes(f["sha256"], owner)
}

// prefixes are the prefixes in a field that may be left out.
func (p *parser) prefixes(n *strictyaml.Node) (list []string) {
	if n == nil {
		return nil
	}
	for _, item := range p.items(n) {
		prefix := p.text(item)
		if prefix == "" {
			p.wrong(item, "an empty prefix would cover all: to allow all, leave the field out")
		}
		list = append(list, prefix)
	}
	return list
}

func (p *parser) hashes(n *strictyaml.Node, owner *Principal) {
	if p.err != nil {
		return
	}
	items := []*strictyaml.Node{n}
	if _, ok := strictyaml.Items(n); ok {
		items = p.items(n)
	}
	for _, item := range items {
		text := p.text(item)
		b, err := hex.DecodeString(text)
		if err != nil || len(b) != sha256.Size {
			p.wrong(item, "this is no SHA-256 of a secret: want %d hex digits, it has %d characters", hex.EncodedLen(sha256.Size), len(text))
			return
		}
		e := entry{[sha256.Size]byte(b), owner}
		if i := slices.IndexFunc(p.list, func(other entry) bool { return other.hash == e.hash }); i >= 0 {
			p.wrong(item, "this hash is there already, in the token %q", p.list[i].owner.name)
		}
		p.list = append(p.list, e)
	}
}

// fields are the values of a mapping that may have the known names.
func (p *parser) fields(n *strictyaml.Node, known ...string) map[string]*strictyaml.Node {
	m := make(map[string]*strictyaml.Node)
	pairs, ok := strictyaml.Pairs(n)
	if !ok {
		p.wrong(n, "want a mapping, with %s", strings.Join(known, ", "))
	}
	for _, pair := range pairs {
		name := pair.Key.Value
		switch {
		case name == "token" || name == "secret":
			p.wrong(pair.Key, "no secret belongs into this file: put its hash into \"sha256\"")
		case !slices.Contains(known, name):
			p.wrong(pair.Key, "unknown field, want one of %s", strings.Join(known, ", "))
		case m[name] != nil:
			p.wrong(pair.Key, "%q is given twice", name)
		}
		m[name] = pair.Value
	}
	return m
}

// items are the items of a list, which must have some; none after a mistake.
func (p *parser) items(n *strictyaml.Node) []*strictyaml.Node {
	if p.err != nil {
		return nil
	}
	items, ok := strictyaml.Items(n)
	switch {
	case !ok:
		p.wrong(n, "want a list")
		return nil
	case len(items) == 0:
		p.wrong(n, "the list is empty")
	}
	return items
}

// text is a scalar as it is written: a hash of digits only is no number.
func (p *parser) text(n *strictyaml.Node) string {
	if p.err != nil {
		return ""
	}
	if !strictyaml.IsScalar(n) || strictyaml.IsBlock(n) {
		p.wrong(n, "want a text in one line")
		return ""
	}
	return n.Value
}
