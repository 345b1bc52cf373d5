package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

// tried is what is made, and the error by which that fails.
func tried[T any](make func() T) (made T, err error) {
	err = fail.Caught(func() { made = make() })
	return made, err
}

// TestCurrent: all documents are what this makes of scenarios, chapters, lessons, laws and services.
func TestCurrent(t *testing.T) {
	list, err := tried(load)
	if err != nil {
		t.Fatal(err)
	}
	made, err := texts(repository, list)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range made {
		got, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not current: run go run ./internal/tools/mkdocs, or make docs, which makes the pictures, too", file)
		}
	}
}

// TestTableHasAllScenarios: a scenario without a row, and a row out of its
// place, are errors that say which.
func TestTableHasAllScenarios(t *testing.T) {
	all, err := tried(load)
	if err != nil {
		t.Fatal(err)
	}
	extra := *all[0]
	extra.Name = "99-new"
	if _, err := tried(func() string { return table(repository, "etcd", append(all, &extra)) }); err == nil || !strings.Contains(err.Error(), "no row for 99-new") {
		t.Errorf("a scenario without a row: got error %v", err)
	}
	if _, err := tried(func() string { return table(repository, "etcd", all[1:]) }); err == nil || !strings.Contains(err.Error(), "row of "+all[0].Name) {
		t.Errorf("a row without a scenario: got error %v", err)
	}
}

// TestWordsOfAFurtherService: a service of which scenarios.md says nothing gets sections with its
// tables, which stay where they are then.
func TestWordsOfAFurtherService(t *testing.T) {
	text, err := fs.ReadFile(repository, wordsFile)
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile(`(?s)<!-- (clients|recipes) of lockfile: begin -->.*?<!-- end -->`).ReplaceAll(text, nil)
	first, err := tried(func() string { return words(fstest.MapFS{wordsFile: {Data: without}}) })
	if err != nil {
		t.Fatal(err)
	}
	want := "### Clients of lockfile\n\n<!-- clients of lockfile: begin -->\n| setting | default | what it is |\n"
	if !strings.Contains(first, want) || !strings.Contains(first, "| `naive` | yes | ") {
		t.Errorf("there are no tables of lock files in\n%s", first)
	}
	if again, err := tried(func() string { return words(fstest.MapFS{wordsFile: {Data: []byte(first)}}) }); err != nil || again != first {
		t.Errorf("made again it is another text, error %v", err)
	}
	nowhere := strings.ReplaceAll(string(text), furtherWords, "")
	if _, err := tried(func() string { return words(fstest.MapFS{wordsFile: {Data: []byte(nowhere)}}) }); err == nil || !strings.Contains(err.Error(), wordsFile+" has no place") {
		t.Errorf("without a place for sections: got error %v", err)
	}
}

// TestWordsOfSeveral: a setting or a recipe of several services is in their table alone, with their
// names.
func TestWordsOfSeveral(t *testing.T) {
	order, have := entries("recipes")
	for _, e := range order {
		several := strings.Contains(tableOfWords("recipes", ofSeveral), "| "+e.name+" | "+inCode(have[e])+" |")
		if several != (len(have[e]) > 1) {
			t.Errorf("%s of %q: in the table of several services: %v", e.name, have[e], several)
		}
		for _, s := range have[e] {
			if own := strings.Contains(tableOfWords("recipes", s), "| "+e.name+" | "+e.is+" | "+e.about+" |"); own == several {
				t.Errorf("%s: in the table of %s: %v, in that of several services: %v", e.name, s, own, several)
			}
		}
	}
}

// TestWithoutPrefix: the copy of a history lacks the prefix of the run, and nothing else.
func TestWithoutPrefix(t *testing.T) {
	for text, want := range map[string]string{
		`{"scope":"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/lock"}`: `{"scope":"/lock"}`,
		`{"scope":"/lock","text":"/gcsim-kept"}`:             `{"scope":"/lock","text":"/gcsim-kept"}`,
	} {
		history := filepath.Join(t.TempDir(), "history.jsonl")
		if err := os.WriteFile(history, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		copies, err := tried(func() []string { return withoutPrefix(t.TempDir(), []string{history, history}) })
		if err != nil || len(copies) != 2 || copies[0] == copies[1] {
			t.Fatalf("the copies are %q, error %v", copies, err)
		}
		for _, file := range copies {
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("the copy of %s is %s, error %v, want %s", text, got, err, want)
			}
		}
	}
}

// TestNotesForSlides: a lesson whose slides are more than its notes is an error that says how many there are.
func TestNotesForSlides(t *testing.T) {
	s := slide{Number: 1, Title: "A lock", Comes: make([]answer, 1)}
	_, err := tried(func() bool {
		s.annotate("# Notes\n\n## 1. A lock\n\n1. One.\n2. Two.\n\n## 2. A token\n\n1. Three.\n")
		return true
	})
	if err == nil || !strings.Contains(err.Error(), "lesson 1, A lock, has 3 slides and 2 notes") {
		t.Errorf("got error %v", err)
	}
}
