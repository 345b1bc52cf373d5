package strictyaml

import (
	"errors"
	"testing"
)

var open = Kind{
	Name: "a list", Empty: "nothing is here", Second: "another one begins here",
	Check: func(n *Node) *Error {
		if n.Value == "bad" {
			return ErrorAt(n, "this is bad")
		}
		return nil
	},
}

var secret = Kind{Name: "a secret", Empty: open.Empty, Second: open.Second, NoYAML: "no YAML: ", Secret: true}

func TestErrorsHavePlaces(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		text string
		want Error
	}{
		{open, "", Error{1, 1, "nothing is here"}},
		{open, "# nothing\n", Error{1, 1, "nothing is here"}},
		{open, "...\n", Error{1, 1, "nothing is here"}},
		{open, "a: 1\n---\nb: 2\n", Error{2, 1, "another one begins here"}},
		{open, "a: 1\n...\n---\nb: 2\n", Error{3, 1, "another one begins here"}},
		{open, "a: 1\n...\nb: 2\n", Error{3, 1, "another one begins here"}},
		{open, "%YAML 1.2\n---\na: 1\n", Error{1, 1, "a list has no directives"}},
		{open, "a: &x 1\n", Error{1, 4, "a list has no tags, anchors, aliases or merge keys"}},
		{open, "a: 1\nb: !!str 2\n", Error{2, 4, "a list has no tags, anchors, aliases or merge keys"}},
		{open, "a:\n  ? [b]\n  : c\n", Error{2, 5, "want a plain name, like \"title:\""}},
		{open, "a:\nb: bad\n", Error{1, 3, "a value is missing here"}},
		{open, "a: bad\nb:\n", Error{1, 4, "this is bad"}},
		{open, "a: 1\na: 2\n", Error{2, 1, "mapping key \"a\" already defined at [1:1]"}},
		{open, "a:\n\t- b\n", Error{2, 1, "a tab stands here: indent with spaces"}},
		{secret, "a: bad\na: &x 1\n", Error{2, 4, "a secret has no tags, anchors, aliases or merge keys"}},
		{open, "a: b\nb: [\n\n", Error{2, 5, "a value is missing here: look whether a comma is too many, or a bracket or brace before this has no end"}},
		{secret, "a: [b", Error{1, 4, "no YAML: a [ begins here that has no ], or a comma is missing in it: quote the text if it begins with a ["}},
		{secret, "%YAML hidden\n---\na: 1\n", Error{1, 1, "a secret has no directives"}},
	} {
		_, err := tt.kind.Parse(tt.text)
		var got *Error
		if !errors.As(err, &got) || *got != tt.want {
			t.Errorf("%q: got %#v, want %#v", tt.text, err, tt.want)
		}
	}
}

// TestStart: the place of a mapping is that of its first key.
func TestStart(t *testing.T) {
	for text, want := range map[string]Error{
		"a: 1\nb: 2\n":     {Line: 1, Column: 1},
		"key: 1\n":         {Line: 1, Column: 1},
		"  {a: 1}\n":       {Line: 1, Column: 3},
		"# x\n- a\n":       {Line: 2, Column: 1},
		"\n\n  'a b': 1\n": {Line: 3, Column: 3},
	} {
		root, err := open.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ErrorAt(root, ""); *got != want {
			t.Errorf("%q: got %#v, want %#v", text, *got, want)
		}
	}
}

func TestPairs(t *testing.T) {
	for text, want := range map[string]int{"a: 1\n": 1, "a: 1\nb: 2\n": 2, "{}": 0, "{a: 1, b: 2}": 2, "[a]": -1, "a": -1} {
		root, err := open.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if pairs, ok := Pairs(root); ok != (want >= 0) || ok && len(pairs) != want {
			t.Errorf("%q: %d pairs, %v, want %d", text, len(pairs), ok, want)
		}
	}
	// A kind of secrets has its reader find keys that stand twice.
	root, err := secret.Parse("a: 1\na: 2\n")
	if err != nil {
		t.Fatal(err)
	}
	if pairs, _ := Pairs(root); len(pairs) != 2 {
		t.Errorf("%d pairs, want both", len(pairs))
	}
}
