package scenario

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

// leaf is a value of one piece, which knows its place.
type leaf interface {
	reader
	is(n *strictyaml.Node) bool // whether the node is of its kind
	set(text string) bool       // takes what is written, if it can
	want() string               // what it can be, in words
	locate(n *strictyaml.Node)
}

// place is where a value stands; nil where it is a default.
type place struct{ node *strictyaml.Node }

func (p *place) locate(n *strictyaml.Node) { p.node = n }

// given reports whether the file has the value.
func (p *place) given() bool { return p.node != nil }

func readLeaf(n *strictyaml.Node, l leaf) error {
	if l.locate(n); !l.is(n) || !l.set(textOf(n)) {
		return errorAt(n, "want %s", l.want())
	}
	return nil
}

// textOf is a scalar as it is written: 010 is 010, not 8. A list of scalars is a JSON array
// of these texts.
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

// word is a text.
type word struct {
	place
	text string
}

func (w *word) read(n *strictyaml.Node) error { return readLeaf(n, w) }
func (w *word) set(text string) bool          { w.text = text; return true }

func (w *word) want() string {
	if w.node != nil && strictyaml.IsScalar(w.node) {
		return "a text: quote it, like " + strconv.Quote(w.node.Value)
	}
	return "a text"
}

func (w *word) is(n *strictyaml.Node) bool { return strictyaml.IsText(n) }

// plain is a text or what looks like another kind of scalar, as it is written.
type plain struct{ word }

func (p *plain) read(n *strictyaml.Node) error { return readLeaf(n, p) }
func (p *plain) want() string                  { return "a text" }
func (p *plain) is(n *strictyaml.Node) bool    { return strictyaml.IsScalar(n) }

// whole is a whole number.
type whole struct {
	place
	number int
}

func (w *whole) read(n *strictyaml.Node) error { return readLeaf(n, w) }
func (w *whole) want() string                  { return "a whole number, like 3" }
func (w *whole) is(n *strictyaml.Node) bool    { return strictyaml.IsWhole(n) }

func (w *whole) set(text string) bool {
	n, err := strconv.Atoi(text)
	w.number = n
	return err == nil && strconv.Itoa(n) == text
}

// pointer is nil where the file does not have the number.
func (w *whole) pointer() *int {
	if !w.given() {
		return nil
	}
	return &w.number
}

// list is a list of texts, or of what looks like another kind of scalar.
type list struct{ word }

func (l *list) read(n *strictyaml.Node) error { return readLeaf(n, l) }
func (l *list) want() string                  { return "a list of texts, like [python3, client.py]" }

func (l *list) is(n *strictyaml.Node) bool {
	items, ok := strictyaml.Items(n)
	return ok && len(items) > 0 && !slices.ContainsFunc(items, func(item *strictyaml.Node) bool { return !strictyaml.IsScalar(item) })
}

// flag is true or false.
type flag struct {
	place
	yes bool
}

func (f *flag) read(n *strictyaml.Node) error { return readLeaf(n, f) }
func (f *flag) want() string                  { return "true or false" }
func (f *flag) is(n *strictyaml.Node) bool    { return strictyaml.IsFlag(n) }

func (f *flag) set(text string) bool {
	f.yes = text == "true"
	return f.yes || text == "false"
}

// pointer is nil where the file does not have the flag.
func (f *flag) pointer() *bool {
	if !f.given() {
		return nil
	}
	return &f.yes
}

// span is a duration.
type span struct {
	word
	long time.Duration
}

func (s *span) read(n *strictyaml.Node) error { return readLeaf(n, s) }
func (s *span) want() string                  { return "a duration, like 5s or 500ms" }

func (s *span) set(text string) (ok bool) {
	s.text = text
	s.long, ok = duration(text)
	return ok
}

// longest is the longest time that a scenario can have. Far longer ones cannot be
// added up.
const longest = 24 * time.Hour

// duration is a time as it is written; ok if it is one, and not too long.
func duration(text string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(text)
	return d, err == nil && d <= longest
}

// anything is a value that is read later, when it is known what it is for.
type anything struct{ place }

func (a *anything) read(n *strictyaml.Node) error { a.locate(n); return nil }

// named is a mapping with names of one's own. Its order counts.
type named[T any] struct {
	place
	entries []entry[T]
}

type entry[T any] struct {
	key   word
	value T
}

func (m *named[T]) read(n *strictyaml.Node) error {
	m.locate(n)
	pairs, ok := strictyaml.Pairs(n)
	if !ok {
		return errorAt(n, "want a mapping, like {name: …}")
	}
	if len(pairs) == 0 {
		return errorAt(n, "this mapping is empty")
	}
	for _, pair := range pairs {
		var e entry[T]
		e.key.node, e.key.text = pair.Key, pair.Key.Value
		if err := read(pair.Value, &e.value); err != nil {
			return err
		}
		m.entries = append(m.entries, e)
	}
	return nil
}
