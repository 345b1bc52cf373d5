package fencelab_test

import (
	"regexp"
	"strings"
	"testing"
)

var (
	cited  = regexp.MustCompile(`(issue|pull request)s? (\d+(?:(?:, | and )\d+)*)`)
	number = regexp.MustCompile(`\d+`)
)

// uncited are the links to issues and pull requests that a scenario's source names and its
// chapter lacks. GitHub numbers both together; the link says which of the two it is.
func uncited(source, chapter string) (missing []string) {
	kinds := map[string]string{"issue": "/issues/", "pull request": "/pull/"}
	for _, c := range cited.FindAllStringSubmatch(strings.Join(strings.Fields(source), " "), -1) {
		for _, n := range number.FindAllString(c[2], -1) {
			if link := kinds[c[1]] + n + ")"; !strings.Contains(chapter, link) {
				missing = append(missing, link)
			}
		}
	}
	return missing
}

// TestSourcesAreLinked: what a scenario gives as its source can be read from its chapter.
func TestSourcesAreLinked(t *testing.T) {
	found := 0
	for _, s := range allScenarios(t) {
		file := chapters(s) + "/" + s.Name + ".md"
		found += len(cited.FindAllString(s.Source, -1))
		for _, link := range uncited(s.Source, read(t, file)) {
			t.Errorf("the source of %s names what %s links nowhere: want a link that ends in %s", s.Name, file, link)
		}
	}
	if found == 0 {
		t.Error("no scenario has an issue as its source: the test looks for the wrong words")
	}
	const source, chapter = "A issues 12, 34 and 5;\nB pull\nrequest 6", "(x/issues/12) (x/issues/34) (x/issues/5) (x/issues/6)"
	if missing := uncited(source, chapter); len(missing) != 1 || missing[0] != "/pull/6)" {
		t.Errorf("of %q, %q lacks %q", source, chapter, missing)
	}
}
