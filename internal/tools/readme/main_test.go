package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

// TestLinksLead: each link leads to the page of a file of the repository, or to the licence beside the text.
func TestLinksLead(t *testing.T) {
	text, err := readme(root)
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1)
	if len(links) < 3 {
		t.Fatalf("the links are %q, want some into the documents", links)
	}
	for _, l := range links {
		file, ours := strings.CutPrefix(l[1], "https://github.com/fencelab/fencelab/blob/main/")
		if !ours && file != "LICENSE" {
			t.Errorf("%s is no page of the repository, and no file of the archive", l[1])
		}
		file, _, _ = strings.Cut(file, "#")
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("%s: %v", l[1], err)
		}
	}
	if strings.Contains(text, "![") || strings.Contains(text, "<img") {
		t.Errorf("the archive has no pictures, the text has:\n%s", text)
	}
}

// TestPartIsMissing: a section that docs/get.md no longer has is an error, and not left out.
func TestPartIsMissing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"README.md": "# a\n\nb\n\nc\n", "docs/get.md": "# d\n\n## The binary\n\ne\n\n## f\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := readme(dir); err == nil || !strings.Contains(err.Error(), "macOS") {
		t.Errorf("got %q, %v, want an error that says what is missing", text, err)
	}
}
