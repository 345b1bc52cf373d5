package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/history/schema"
)

func compiled(t *testing.T, of func() ([]byte, error)) *jsonschema.Schema {
	t.Helper()
	b, err := of()
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
	s := compiled(t, schema.Of)
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
	s := compiled(t, schema.Of)
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

// TestSchemaOfAgents: it takes what clients said in all histories that are here, and refuses what
// no client says.
func TestSchemaOfAgents(t *testing.T) {
	s := compiled(t, schema.OfAgent)
	said := 0
	for line := range strings.Lines(edited(t)) {
		e, err := history.ParseLine([]byte(line))
		if err != nil || !slices.Contains(history.ClientKinds, e.Kind) || e.Step != "" {
			continue
		}
		if said++; e.Client == "" {
			line = strings.Replace(line, "{", fmt.Sprintf(`{"client":%q,`, e.Lane), 1)
		}
		if err := valid(s, line); err != nil {
			t.Errorf("%s%v", line, err)
		}
	}
	if said == 0 {
		t.Error("no client says anything")
	}
	const good = `{"at":1,"lane":"c","client":"c","kind":"ok","op":"lock","scope":"/l","tenure":"t","token":"1"}`
	for _, tt := range [][2]string{
		{`"kind":"ok"`, `"kind":"granted"`}, {`"kind":"ok"`, `"kind":"run"`}, {`"kind":"ok"`, `"kind":"error"`}, {`"client":"c",`, ""},
		{`"tenure":"t",`, ""}, {`"scope":"/l",`, ""}, {`"op":"lock"`, `"op":"luck"`}, {`"token":"1"`, `"token":1`}, {`"token":"1"`, `"index":1`}, {`"at":1,`, ""},
	} {
		bad := strings.Replace(good, tt[0], tt[1], 1)
		if err := valid(s, bad); bad == good || err == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
	if err := valid(s, good); err != nil {
		t.Error(err)
	}
}

// TestSchemaOfLockServices: it takes a grant and an end, and nothing else.
func TestSchemaOfLockServices(t *testing.T) {
	s := compiled(t, schema.OfLockService)
	const granted, ended = `{"at":1,"kind":"granted","scope":"/l","tenure":"a","token":"7"}`, `{"at":2,"kind":"ended","scope":"/l","tenure":"a","cause":"expired"}`
	for _, line := range []string{
		granted, ended, strings.Replace(granted, `,"token":"7"`, "", 1), strings.Replace(granted, `"7"`, `"7","mode":"shared"`, 1),
		strings.Replace(ended, "expired", `released","text":"by hand`, 1), strings.Replace(ended, "expired", "revoked", 1),
	} {
		if err := valid(s, line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{
		"{}", strings.Replace(granted, "granted", "queued", 1), strings.Replace(granted, "/l", "", 1), strings.Replace(granted, `"a"`, `""`, 1),
		strings.Replace(granted, `"at":1,`, "", 1), strings.Replace(granted, `"7"`, "7", 1), strings.Replace(granted, `"7"`, `"0"`, 1), strings.Replace(granted, `"7"`, `"7","mode":"half"`, 1),
		strings.Replace(granted, `"7"`, `"7","cause":"expired"`, 1), strings.Replace(granted, `"7"`, `"7","text":"x"`, 1), strings.Replace(granted, `"7"`, `"7","lane":"x"`, 1),
		strings.Replace(ended, "expired", "lost", 1), strings.Replace(ended, `,"cause":"expired"`, "", 1), strings.Replace(ended, `"a"`, `"a","token":"7"`, 1), strings.Replace(ended, `"a"`, `"a","mode":"shared"`, 1),
	} {
		if err := valid(s, line); err == nil {
			t.Errorf("it takes %s", line)
		}
	}
}
