package history_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fencelab/fencelab/internal/history/schema"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := schema.Of()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// valid is what the schema says of a line.
func valid(s *jsonschema.Schema, line string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// TestSchemaOfHistories: it takes the lines of all histories that are here.
func TestSchemaOfHistories(t *testing.T) {
	s := compiled(t)
	histories := map[string]string{
		"good":           edited(t),
		"in the service": edited(t, edit{1, `"fencing":true`, `"fencing":true,"in_service":true`}),
	}
	for _, pattern := range []string{"../report/testdata/*.jsonl", "../../cmd/gcsim/testdata/*.jsonl"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || paths == nil {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			histories[path] = string(b)
		}
	}
	for name, text := range histories {
		for line := range strings.Lines(text) {
			if err := valid(s, line); err != nil {
				t.Errorf("%s: %s%v", name, line, err)
			}
		}
	}
}

// TestSchemaRefuses: what Read refuses in a line the schema refuses, but for what JSON
// itself cannot tell.
func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	for name, tt := range wrongLines {
		if name == "a field twice" || name == "a huge token" { // by one digit of 19
			continue
		}
		lines := strings.Split(edited(t, tt.edit), "\n")
		if err := valid(s, lines[tt.edit.line-1]); err == nil {
			t.Errorf("%s: the schema takes %s", name, lines[tt.edit.line-1])
		}
	}
}
