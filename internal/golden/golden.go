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

// Table is Check for the table below a heading of a file in Markdown.
func Table(t testing.TB, file, heading, got string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(text), heading+"\n")
	prose, table, begins := strings.Cut(after, "\n|")
	_, rest, ends := strings.Cut(table, "\n\n")
	if !found || !begins || !ends {
		t.Fatalf("%s has no table below %q", file, heading)
	}
	Check(t, file, before+heading+"\n"+prose+"\n"+got+"\n"+rest)
}

// Check fails the test where got is not what the file says. With -update it writes the
// file first.
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
