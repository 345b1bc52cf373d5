package main

import (
	"os"
	"strings"
	"testing"
)

// TestTableIsCurrent: docs/README.md is what this makes of the scenarios.
func TestTableIsCurrent(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	want, err := table(all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/README.md is not current: run go run ./internal/mkdocs, or make docs, which makes the pictures, too")
	}
}

// TestTableHasAllScenarios: a scenario without a row, and a row out of its
// place, are errors that say which.
func TestTableHasAllScenarios(t *testing.T) {
	all, err := load()
	if err != nil {
		t.Fatal(err)
	}
	extra := *all[0]
	extra.Name = "99-new"
	if _, err := table(append(all, &extra)); err == nil || !strings.Contains(err.Error(), "no row for 99-new") {
		t.Errorf("a scenario without a row: got error %v", err)
	}
	if _, err := table(all[1:]); err == nil || !strings.Contains(err.Error(), "row of "+all[0].Name) {
		t.Errorf("a row without a scenario: got error %v", err)
	}
}
