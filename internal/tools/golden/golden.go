// Package golden compares what tests get with files that say what is expected. It is for
// tests alone: a test that imports it has the flag -update.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updates reports whether the golden files are written anew.
func Updates() bool { return *update }

// Check fails the test where got is not what the file says. With -update it writes the file first.
func Check(t testing.TB, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; -update where the change is meant):\n%s", file, diff)
	}
}
