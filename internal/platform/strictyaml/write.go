package strictyaml

import "go.yaml.in/yaml/v4"

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
