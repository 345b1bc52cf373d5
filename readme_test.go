package fencelab_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadmeIsCompiled: each Go block of README is a program that prints what README
// says, or stands in example_test.go or an example, as the blocks of other documents do.
func TestReadmeIsCompiled(t *testing.T) {
	readme, example := read(t, "README.md"), read(t, "example_test.go")+read(t, "examples/pay/main.go")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme+read(t, "docs/library.md")+read(t, "docs/rollout.md")+read(t, "docs/scale.md"), -1)
	outputs := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(readme, -1)
	code := strings.ReplaceAll(example, "\n\t", "\n")
	var printed []string
	for _, block := range blocks {
		if strings.HasPrefix(block[1], "package main\n") {
			printed = append(printed, run(t, block[1]))
		} else if !strings.Contains(code, block[1]) && !strings.Contains(example, block[1]) {
			t.Errorf("neither example_test.go nor examples/pay has\n%s", block[1])
		}
	}
	var want []string
	for _, output := range outputs {
		want = append(want, output[1])
	}
	if len(printed) == 0 || !slices.Equal(printed, want) {
		t.Errorf("README's programs print %q, and README says %q", printed, want)
	}
}

// TestLibraryNamesModules: the table of docs/library.md has each module of the library, and the
// Go that the module needs.
func TestLibraryNamesModules(t *testing.T) {
	needs := make(map[string]string)
	for _, row := range regexp.MustCompile("(?m)^\\| (`pkg.*?) \\| ([0-9.]+) \\|").FindAllStringSubmatch(read(t, "docs/library.md"), -1) {
		for _, module := range strings.Split(row[1], ", ") {
			needs[strings.Trim(module, "`")] = row[2]
		}
	}
	want := make(map[string]string)
	err := filepath.WalkDir("pkg", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "go.mod" {
			want[filepath.Dir(path)] = regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, path))[1]
		}
		return err
	})
	if err != nil || len(want) == 0 || !maps.Equal(needs, want) {
		t.Errorf("docs/library.md names %v, want %v, %v", needs, want, err)
	}
}

// run returns what a program prints.
func run(t *testing.T, program string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", file).CombinedOutput()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, out)
	}
	return string(out)
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
	for _, doc := range append(inDocs(t, "*.md"), "README.md", "CONTRIBUTING.md", "CHANGELOG.md") {
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
