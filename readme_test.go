package fencelab_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeIsCompiled: each Go block of README stands in example_test.go.
func TestReadmeIsCompiled(t *testing.T) {
	readme, example := read(t, "README.md"), read(t, "example_test.go")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Fatal("README shows no Go")
	}
	code := strings.ReplaceAll(example, "\n\t", "\n")
	for _, block := range blocks {
		if !strings.Contains(code, block[1]) {
			t.Errorf("example_test.go does not have README's\n%s", block[1])
		}
	}
}

// TestScenarioDocIsTrue: the example of docs/scenarios.md is one that gcsim
// takes.
func TestScenarioDocIsTrue(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(read(t, "docs/scenarios.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/scenarios.md shows no scenario")
	}
	for _, block := range blocks {
		if _, err := language.Parse("docs/scenarios.md", "example", []byte(block[1])); err != nil {
			t.Error(err)
		}
	}
}

// TestLinksLead: each relative link of the documents leads to a file, and one
// with a # to a heading in it.
func TestLinksLead(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range append(docs, "README.md", "CONTRIBUTING.md") {
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(read(t, doc), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(link[1], "#")
			target := doc
			if path != "" {
				target = filepath.Join(filepath.Dir(doc), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", doc, err)
			} else if anchor != "" && !hasHeading(read(t, target), anchor) {
				t.Errorf("%s: %s has no heading #%s", doc, target, anchor)
			}
		}
	}
}

// hasHeading makes anchors of headings as GitHub does.
func hasHeading(text, anchor string) bool {
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(h[1]), "")
		if strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
