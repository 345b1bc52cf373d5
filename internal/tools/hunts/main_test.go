package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

// TestTable: each line of the file is a row, and of what a hunt found the first counts.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hunts.jsonl")
	const lines = `{"world":"etcd/1/unfenced","control":true,"stories":14,"findings":[{"kind":"corrupted: stale","story":8,"steps":12,"small":["a","b"],"seen":5,"again":5},{"kind":"blocked: refused"}]}
{"world":"etcd/6/mixed","control":true,"stories":85,"findings":[]}
{"world":"redis/13/lost","control":true,"stories":0,"findings":null,"error":": redis is missing"}
`
	if err := os.WriteFile(file, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := fail.Caught(func() { print(&out, read(file)) }); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| `etcd/1/unfenced` | corrupted: stale | 8 | 12 | 2 | 5 of 5 |",
		"| `etcd/6/mixed` | nothing | 85 | | | |",
		"| `redis/13/lost` | nothing: redis is missing | 0 | | | |",
	} {
		if !strings.Contains(out.String(), row+"\n") {
			t.Errorf("%q is missing in\n%s", row, out.String())
		}
	}
	if err := fail.Caught(func() {
		if known := read(filepath.Join(t.TempDir(), "none")); known != nil {
			t.Errorf("a file that is not there has %v", known)
		}
	}); err != nil {
		t.Error(err)
	}
}
