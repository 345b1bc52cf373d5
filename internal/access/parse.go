package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/strictyaml"
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
	list, err := parse(data)
	var at *strictyaml.Error
	if errors.As(err, &at) {
		return nil, fmt.Errorf("%s:%d:%d: %w", file, at.Line, at.Column, err)
	}
	return list, err
}

func parse(data []byte) ([]entry, error) {
	root, err := kind.Parse(string(data))
	if err != nil {
		return nil, err
	}
	top, err := fields(root, "tokens")
	if err != nil {
		return nil, err
	}
	if top["tokens"] == nil {
		return nil, strictyaml.ErrorAt(root, "\"tokens\" is missing")
	}
	items, err := sequence(top["tokens"])
	if err != nil {
		return nil, err
	}
	var list []entry
	for _, item := range items {
		entries, err := parseEntry(item, list)
		if err != nil {
			return nil, err
		}
		list = append(list, entries...)
	}
	return list, nil
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// parseEntry reads one item of the list, which comes after those before.
func parseEntry(n *strictyaml.Node, before []entry) ([]entry, error) {
	f, err := fields(n, "name", "sha256", "rights", "scopes", "keys")
	if err != nil {
		return nil, err
	}
	for _, must := range []string{"name", "sha256", "rights"} {
		if f[must] == nil {
			return nil, strictyaml.ErrorAt(n, "%q is missing in this token", must)
		}
	}
	p := &Principal{}
	if p.name, err = text(f["name"]); err != nil {
		return nil, err
	}
	if !plainName.MatchString(p.name) {
		return nil, strictyaml.ErrorAt(f["name"], "this is no name: want 1 to 64 letters, digits and . _ @ -, the first a letter or digit")
	}
	if slices.ContainsFunc(before, func(e entry) bool { return e.owner.name == p.name }) {
		return nil, strictyaml.ErrorAt(f["name"], "the name %q is there already; one name may have a list of hashes in \"sha256\"", p.name)
	}
	if p.rights, err = parseRights(f["rights"]); err != nil {
		return nil, err
	}
	if p.scopes, err = parsePrefixes(f["scopes"]); err != nil {
		return nil, err
	}
	if p.keys, err = parsePrefixes(f["keys"]); err != nil {
		return nil, err
	}
	return parseHashes(f["sha256"], p, before)
}

func parseRights(n *strictyaml.Node) ([]Right, error) {
	items, err := sequence(n)
	if err != nil {
		return nil, err
	}
	var list []Right
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(rights, Right(s)) {
			return nil, strictyaml.ErrorAt(item, "unknown right, want read, write, observe or admin")
		}
		if slices.Contains(list, Right(s)) {
			return nil, strictyaml.ErrorAt(item, "the right %q is given twice", s)
		}
		list = append(list, Right(s))
	}
	return list, nil
}

// parsePrefixes of a field that may be left out.
func parsePrefixes(n *strictyaml.Node) ([]string, error) {
	if n == nil {
		return nil, nil
	}
	items, err := sequence(n)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		if s == "" {
			return nil, strictyaml.ErrorAt(item, "an empty prefix would cover all: to allow all, leave the field out")
		}
		list = append(list, s)
	}
	return list, nil
}

// parseHashes reads one hash, or a list of them.
func parseHashes(n *strictyaml.Node, owner *Principal, before []entry) ([]entry, error) {
	items := []*strictyaml.Node{n}
	if _, ok := strictyaml.Items(n); ok {
		var err error
		if items, err = sequence(n); err != nil {
			return nil, err
		}
	}
	var list []entry
	for _, item := range items {
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		b, err := hex.DecodeString(s)
		if err != nil || len(b) != sha256.Size {
			return nil, strictyaml.ErrorAt(item, "this is no SHA-256 of a secret: want %d hex digits, it has %d characters", hex.EncodedLen(sha256.Size), len(s))
		}
		e := entry{[sha256.Size]byte(b), owner}
		for _, entries := range [][]entry{before, list} {
			if i := slices.IndexFunc(entries, func(other entry) bool { return other.hash == e.hash }); i >= 0 {
				return nil, strictyaml.ErrorAt(item, "this hash is there already, in the token %q", entries[i].owner.name)
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// fields are the values of a mapping that may have the known names.
func fields(n *strictyaml.Node, known ...string) (map[string]*strictyaml.Node, error) {
	pairs, ok := strictyaml.Pairs(n)
	if !ok {
		return nil, strictyaml.ErrorAt(n, "want a mapping, with %s", strings.Join(known, ", "))
	}
	m := make(map[string]*strictyaml.Node)
	for _, pair := range pairs {
		name := pair.Key.Value
		if name == "token" || name == "secret" {
			return nil, strictyaml.ErrorAt(pair.Key, "no secret belongs into this file: put its hash into \"sha256\"")
		}
		if !slices.Contains(known, name) {
			return nil, strictyaml.ErrorAt(pair.Key, "unknown field, want one of %s", strings.Join(known, ", "))
		}
		if m[name] != nil {
			return nil, strictyaml.ErrorAt(pair.Key, "%q is given twice", name)
		}
		m[name] = pair.Value
	}
	return m, nil
}

// sequence is the items of a list that must have some.
func sequence(n *strictyaml.Node) ([]*strictyaml.Node, error) {
	items, ok := strictyaml.Items(n)
	if !ok {
		return nil, strictyaml.ErrorAt(n, "want a list")
	}
	if len(items) == 0 {
		return nil, strictyaml.ErrorAt(n, "the list is empty")
	}
	return items, nil
}

// text is a scalar as it is written: a hash of digits only is no number.
func text(n *strictyaml.Node) (string, error) {
	if !strictyaml.IsScalar(n) || strictyaml.IsBlock(n) {
		return "", strictyaml.ErrorAt(n, "want a text in one line")
	}
	return n.Value, nil
}
