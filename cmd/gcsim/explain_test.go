package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestScenariosAreFoundByNumberAndName(t *testing.T) {
	for _, arg := range []string{"1", "01", "gc-pause", "01-gc-pause", "etcd/1", "etcd/gc-pause"} {
		if list, err := load([]string{arg}, io.Discard); err != nil || len(list) != 1 || list[0].Name != mainStory {
			t.Errorf("%s: %d scenarios (%v), want %s", arg, len(list), err, mainStory)
		}
	}
	for _, arg := range []string{"", "0", "001", "gc"} {
		if _, err := load([]string{arg}, io.Discard); err == nil || !strings.Contains(err.Error(), "gcsim list") {
			t.Errorf("%q: %v, want where to find the names", arg, err)
		}
	}
}

// mine is a file of the user's, with a scenario that gcsim brings with it.
func mine(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "mine.yaml")
	source, err := os.ReadFile("../../scenarios/etcd/01-gc-pause.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, source, 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestVariantsAreFound: one of a scenario, whoever's that is; the others are left out.
func TestVariantsAreFound(t *testing.T) {
	file := mine(t)
	for _, arg := range []string{"gc-pause/unfenced", "1/unfenced", "etcd/1/unfenced", "lockfile/1/unfenced", file + "/unfenced"} {
		list, err := load([]string{arg}, io.Discard)
		if err != nil || len(list) != 1 || len(list[0].Variants) != 1 || list[0].Variants[0].Name != "unfenced" {
			t.Errorf("%s: %v, %v", arg, list, err)
		}
	}
	if list, err := load([]string{"gc-pause"}, io.Discard); err != nil || len(list[0].Variants) != 2 {
		t.Errorf("the whole scenario: %v, %v", list, err)
	}
}

func TestWhatIsNotFound(t *testing.T) {
	for arg, want := range map[string]string{
		"gc-pause/unfencd":   `etcd/1 gc-pause has no variant "unfencd": did you mean unfenced?`,
		"gc-pausee/unfenced": "did you mean gc-pause/unfenced?",
		"reids/5":            "did you mean redis/5?",
		"redis/99":           "gcsim list",
		"no/such/folder":     "gcsim list",
		"no/such.yaml":       "no such file",
		"no.yaml/fenced":     "no such file",
	} {
		if _, err := load([]string{arg}, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

// TestNumberAlone: of whose scenario it is the number is said, where several services have that number.
func TestNumberAlone(t *testing.T) {
	for arg, want := range map[string]string{
		"5":           "5 is etcd/5 lease-id-token. Also called so: redis/5, postgres/5, mariadb/5, sqlite/5, zookeeper/5, elasticsearch/5, nats/5, kubernetes/5, s3/5, dynamodb/5\n",
		"1/unfenced":  "1/unfenced is etcd/1 gc-pause. Also called so: redis/1, ",
		"26":          "",
		"redis/5":     "",
		"01-gc-pause": "",
	} {
		var notes bytes.Buffer
		if _, err := load([]string{arg}, &notes); err != nil || want == "" && notes.Len() > 0 || !strings.HasPrefix(notes.String(), want) {
			t.Errorf("%s: it says %q, %v, want %q", arg, notes.String(), err, want)
		}
	}
}

// TestExplainToAFullDisk: what could not be printed is no success.
func TestExplainToAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := command()
	cmd.SetOut(full)
	cmd.SetArgs([]string{"explain", "1"})
	if err := cmd.Execute(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want %v", err, syscall.ENOSPC)
	}
}

func TestParagraphsBreakBetweenWordsOnly(t *testing.T) {
	var out bytes.Buffer
	prose{w: &out, width: 20}.paragraph("  ", "at the\nend key0=from-client-2, and a-word-that-is-longer-than-a-line.")
	want := "  at the end\n  key0=from-client-2,\n  and\n  a-word-that-is-longer-than-a-line.\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestExplainLeadsOn: to the run, and to the chapter; a scenario of one's own has none.
func TestExplainLeadsOn(t *testing.T) {
	_, got, _ := gcsim(t, "explain", "gc-pause")
	for _, want := range []string{"\nRun it:\n  gcsim run gc-pause\n", "\nIts chapter:\n  https://github.com/fencelab/fencelab/blob/main/docs/01-gc-pause.md\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	file := mine(t)
	if _, got, _ = gcsim(t, "explain", file); strings.Contains(got, "chapter") || !strings.Contains(got, "gcsim run "+file) {
		t.Errorf("got\n%s", got)
	}
	t.Chdir("../..") // where the chapters are
	if _, got, _ = gcsim(t, "explain", "1"); !strings.Contains(got, "\n  docs/01-gc-pause.md\n") || !strings.Contains(got, "\n  go run ./cmd/gcsim run 1\n") {
		t.Errorf("in a clone: got\n%s", got)
	}
}

// TestNamesAreCompleted: a shell offers the names of scenarios, and files; after a slash those of a service, and
// variants.
func TestNamesAreCompleted(t *testing.T) {
	for _, command := range []string{"run", "explain"} {
		for typed, wants := range map[string][]string{
			"gc-pause":  {"gc-pause\tA paused lock holder wakes up", "gc-pause-real\t", ":0\n"},
			"gc-pause/": {"gc-pause/fenced\n", "gc-pause/unfenced\n"},
			"redis/":    {"redis/hanging-work\tA watchdog renews"},
		} {
			_, got, _ := gcsim(t, "__complete", command, typed)
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("%s %s: no %q in\n%s", command, typed, want, got)
				}
			}
		}
	}
}
