package strictyaml

import "go.yaml.in/yaml/v4"

// Tags of scalars, as the YAML library resolves them.
const (
	nullTag  = "!!null"
	mergeTag = "!!merge"
	textTag  = "!!str"
	timeTag  = "!!timestamp"
	wholeTag = "!!int"
	flagTag  = "!!bool"
)

// Text is a node that stands in no file.
func Text(text string) *Node {
	return &Node{Kind: yaml.ScalarNode, Tag: textTag, Value: text, Line: 1, Column: 1}
}

// IsScalar reports whether a node is a value of one piece. Its Value is the text as it is
// written: 010 is 010, not 8.
func IsScalar(n *Node) bool { return n.Kind == yaml.ScalarNode }

// IsText reports whether a node is a text. A date is one.
func IsText(n *Node) bool { return IsScalar(n) && (n.Tag == textTag || n.Tag == timeTag) }

// IsWhole reports whether a node looks like a whole number.
func IsWhole(n *Node) bool { return IsScalar(n) && n.Tag == wholeTag }

// IsFlag reports whether a node is true or false.
func IsFlag(n *Node) bool { return IsScalar(n) && n.Tag == flagTag }

// IsBlock reports whether a node is a text that begins with | or >.
func IsBlock(n *Node) bool { return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 }

// Items are those of a list; ok if the node is one.
func Items(n *Node) (items []*Node, ok bool) { return n.Content, n.Kind == yaml.SequenceNode }

// Pair is a key of a mapping and its value.
type Pair struct{ Key, Value *Node }

// Pairs are those of a mapping, in their order; ok if the node is one.
func Pairs(n *Node) (pairs []Pair, ok bool) {
	if n.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		pairs = append(pairs, Pair{n.Content[i], n.Content[i+1]})
	}
	return pairs, true
}

// Mapping is one to be written, in its order.
type Mapping []Entry

// Entry is a key of a mapping and its value.
type Entry struct {
	Key   string
	Value any
}

// MarshalYAML implements yaml.Marshaler.
func (m Mapping) MarshalYAML() (any, error) {
	n := &Node{Kind: yaml.MappingNode}
	for _, e := range m {
		var value Node
		if err := value.Encode(e.Value); err != nil {
			return nil, err
		}
		n.Content = append(n.Content, Text(e.Key), &value)
	}
	return n, nil
}

// Write writes a file that Parse reads.
func Write(m Mapping) ([]byte, error) { return yaml.Dump(m, yaml.WithLineWidth(-1)) }
