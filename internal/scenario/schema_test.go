package scenario_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/tools/golden"
	"github.com/fencelab/fencelab/scenarios"
)

// TestSchema: the published schema is that of the types.
func TestSchema(t *testing.T) {
	b, err := language.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../scenarios/schema.json", string(b))
}

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text(t, "../../scenarios/schema.json")))
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

// inJSON is what a YAML file holds, as a validator of JSON wants it.
func inJSON(file string) (any, error) {
	var doc any
	if err := yaml.Unmarshal([]byte(file), &doc); err != nil {
		return nil, err
	}
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(b))
}

// valid is what the schema says of a YAML file.
func valid(t testing.TB, s *jsonschema.Schema, file string) error {
	t.Helper()
	doc, err := inJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchemaTakesScenarios(t *testing.T) {
	s := schema(t)
	good := map[string]string{
		"template": string(scenario.Template("x")),
		"good":     text(t, "testdata/good.yaml"),
		"full":     text(t, "testdata/full.yaml"),
	}
	files, err := fs.Glob(scenarios.FS, "*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		good[file] = text(t, "../../scenarios/"+file)
	}
	for _, block := range strings.Split(text(t, "testdata/stories.txt"), "\n\n")[1:] {
		tale, outcome, _ := strings.Cut(block, "\n=> ")
		if strings.TrimSpace(outcome) == "it can happen" {
			good[tale] = story(tale)
		}
	}
	for name, file := range good {
		if err := valid(t, s, file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefuses what it can know to be wrong.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	good := text(t, "testdata/good.yaml")
	for _, tt := range []struct{ from, to string }{
		{"title: A title", "titel: A title"},
		{"title: A title\n", ""},
		{"title: A title", "title: 2026"},
		{"members: 1", "members: 2"},
		{"members: 1", "restore: again"},
		{"engine: memory", "engine: paper"},
		{"engine: memory", "fencing: true"},
		{"engine: memory", "bounds: none"},
		{"[[a, b]]", "[[a]]"},
		{"[[a, b]]", "[[a, a]]"},
		{"[[a, b]]", "[]"},
		{"  client1: {lock", "  Client1: {lock"},
		{"lock: /lock, ttl: 2s", "ttl: 2s"},
		{"ttl: 2s", "ttl: 2"},
		{"ttl: 2s", "ttl: 1500ms"},
		{"ttl: 2s", "timeout: 0s"},
		{"ttl: 2s", "numbered: 1"},
		{"ttl: 2s", "token: best"},
		{"ttl: 2s", "session: Own"},
		{"ttl: 2s", "tll: 2s"},
		{"ttl: 2s", "command: python3"},
		{"ttl: 2s", "command: []"},
		{"ttl: 2s", "command: [[python3]]"},
		{"- client1: lock", "- client1: luck"},
		{"- client1: lock", "- client1: pause client2"},
		{"- client1: lock", "- client1: lock /a /b"},
		{"- client1: lock", "- client1: [lock]"},
		{"- client1: lock", "- lock"},
		{"- client1: lock", "- {client1: lock, client2: lock}"},
		{"- client1: lock", "- client1: change a=1"},
		{"- client1: lock", "- client1: write =1"},
		{"- client1: lock", "- clients: count a"},
		{"- gcsim: pause client1", "- gcsim: freeze client1"},
		{"- gcsim: pause client1", "- gcsim: pause client1 for long"},
		{"- gcsim: pause client1", "- gcsim: delay client1 to etcd"},
		{"await expiry of client1", "await the end"},
		{"    about: by tokens", "    steps: []"},
		{"    about: by tokens", "    steps: [{client1: luck}]"},
		{"    about: by tokens", "    set: {}"},
		{"    expect: {verdict: corrupted}\n", ""},
		{"verdict: safe", "verdict: fine"},
		{"stale: 1", "stale: -1"},
		{"stale: 1", "ordered: maybe"},
		{"stale: 1", "fair: maybe"},
		{"{key0: a=b c}", "{key0: [200]}"},
		{"storage.fencing: off", "storage.fencing: maybe"},
		{"storage.fencing: off", "storage.fences: off"},
		{"storage.fencing: off", "pauses: many"},
		{"storage.fencing: off", "clients.*.lock: /other"},
		{"storage.fencing: off", "clients.client2.reads: false"},
	} {
		if !strings.Contains(good, tt.from) {
			t.Fatalf("good.yaml has no %q", tt.from)
		}
		bad := strings.Replace(good, tt.from, tt.to, 1)
		if err := valid(t, s, bad); err == nil {
			t.Errorf("the schema takes %q → %q", tt.from, tt.to)
		}
		if _, err := language.Parse("s", "s", []byte(bad)); err == nil {
			t.Errorf("the parser takes %q → %q", tt.from, tt.to)
		}
	}
}

// TestDocIsWhole: docs/scenarios.md has each form of a step, each key, and each
// value that a key can have.
func TestDocIsWhole(t *testing.T) {
	doc := text(t, "../../docs/scenarios.md")
	usages, values := words(t, language)
	for name, of := range values {
		usages = append(append(usages, name), of...)
	}
	for _, word := range usages {
		if !strings.Contains(doc, "`"+word+"`") {
			t.Errorf("docs/scenarios.md does not have `%s`", word)
		}
	}
}

// words are those of the schema: how each step is written, and the values of each key, none where
// it is free. Keys with a dot are other names of keys.
func words(t *testing.T, l *scenario.Language) (usages []string, values map[string][]string) {
	t.Helper()
	b, err := l.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	values = make(map[string][]string)
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, child := range node {
				walk(child)
			}
		case map[string]any:
			if usage, ok := node["title"].(string); ok && node["pattern"] != nil {
				usages = append(usages, usage)
			}
			keys, _ := node["properties"].(map[string]any)
			for key, of := range keys {
				if !strings.Contains(key, ".") {
					values[key] = slices.Concat(values[key], enum(of))
				}
			}
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(doc)
	return usages, values
}

// enum are the values that a schema lists.
func enum(schema any) (values []string) {
	of, _ := schema.(map[string]any)
	list, _ := of["enum"].([]any)
	for _, v := range list {
		values = append(values, fmt.Sprint(v))
	}
	return values
}
