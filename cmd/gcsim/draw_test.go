package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDrawKeepsHistories: of "draw -o */history.jsonl" the first is not drawn over.
func TestDrawKeepsHistories(t *testing.T) {
	dir := t.TempDir()
	const history = `{"at":0,"lane":"gcsim","kind":"run","run":{"scenario":"s","title":"t","variant":"v","lanes":["etcd","c1","storage"],"unlocked":true,"expect":{"verdict":"safe"}}}` + "\n"
	one, two := filepath.Join(dir, "1.jsonl"), filepath.Join(dir, "2.jsonl")
	for _, name := range []string{one, two} {
		if err := os.WriteFile(name, []byte(history), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for out, want := range map[string]bool{one: false, filepath.Join(dir, "all.svg"): true} {
		cmd := command()
		cmd.SetArgs([]string{"draw", "-o", out, two})
		if err := cmd.Execute(); (err == nil) != want {
			t.Errorf("-o %s: %v", out, err)
		}
	}
	if b, err := os.ReadFile(one); string(b) != history {
		t.Errorf("the history is now %q (%v)", b, err)
	}
}

// TestDrawNarrow: a phone gets a form of its own.
func TestDrawNarrow(t *testing.T) {
	const history = `{"at":0,"lane":"gcsim","kind":"run","run":{"scenario":"s","title":"t","variant":"v","lanes":["etcd","c1","storage"],"unlocked":true,"expect":{"verdict":"safe"}}}` + "\n"
	for flag, want := range map[string]bool{"--narrow": true, "--narrow=false": false} {
		var out strings.Builder
		cmd := command()
		cmd.SetIn(strings.NewReader(history))
		cmd.SetOut(&out)
		cmd.SetArgs([]string{"draw", flag, "-"})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), `<g class="phone">`); got != want {
			t.Errorf("%s: it is the narrow form: %v", flag, got)
		}
	}
}
