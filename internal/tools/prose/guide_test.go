// Package prose tells where documents leave the words of CONTRIBUTING.md, and where a sentence is longer than
// its bound. Documents are all it tests, so it has nothing but tests.
package prose

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A guide is what CONTRIBUTING.md says of prose.
type guide struct {
	rules   []rule
	longest int // how many words a sentence may have
}

// A rule is a phrase that no document has, and what to say instead.
type rule struct {
	phrase *regexp.Regexp
	say    string
}

var (
	bound   = regexp.MustCompile(`A sentence has at most (\d+) words`)
	phrases = regexp.MustCompile("`([^`]+)`")
)

// readGuide reads the bound and the table of the section "Words". A phrase stands in backticks in the
// second cell of a row; … in it stands for one to three words.
func readGuide(document string) (guide, error) {
	_, section, _ := strings.Cut(document, "\n## Words\n")
	section, _, _ = strings.Cut(section, "\n## ")
	longest := bound.FindStringSubmatch(section)
	if longest == nil {
		return guide{}, fmt.Errorf("section Words: no match for %q", bound)
	}
	var g guide
	g.longest, _ = strconv.Atoi(longest[1])
	_, table, _ := strings.Cut(section, "\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 3 || !phrases.MatchString(cells[2]) {
			return guide{}, fmt.Errorf("section Words: want | say | `phrase`, `phrase` | because |, not %q", row)
		}
		for _, phrase := range phrases.FindAllStringSubmatch(cells[2], -1) {
			words := strings.ReplaceAll(regexp.QuoteMeta(phrase[1]), " … ", `( [^\s.;:|]+){1,3} `)
			r := rule{regexp.MustCompile(`(?i)\b` + words + `\b`), strings.TrimSpace(cells[1])}
			if !r.phrase.MatchString(strings.ReplaceAll(phrase[1], "…", "word")) {
				return guide{}, fmt.Errorf("section Words: %q does not begin and end with a letter or a digit", phrase[1])
			}
			g.rules = append(g.rules, r)
		}
	}
	return g, nil
}

// notProse is code, what a template fills in, tags, links to pages of others with their titles, the
// targets of other links, and quotations.
var notProse = regexp.MustCompile("(?m)^```(?s:.*?)^```$|^    .*$|`[^`\n]+`|{{.*?}}|<[^>\n]+>|\\[[^]\n]+\\]\\(https?:[^)\n]+\\)|\\]\\([^)\n]+\\)|\"[^\"\n]+\"")

var (
	visible  = regexp.MustCompile(`[^\n]`)
	sentence = regexp.MustCompile("[^|\n]+?([.!?][*)`]*\\s|;|<br>|[|\n]|$)")
	word     = regexp.MustCompile("\\S*[\\pL\\pN`]\\S*")
)

// check returns the hits in a document in Markdown, as LINE:COLUMN: WHAT. A paragraph is a line.
func (g guide) check(document string) (hits []string) {
	prose := notProse.ReplaceAllStringFunc(document, func(s string) string {
		if s == "<br>" {
			return s
		}
		return visible.ReplaceAllStringFunc(s, func(r string) string { return strings.Repeat("`", len(r)) })
	})
	hit := func(at int, format string, args ...any) {
		before := prose[:at]
		line, column := 1+strings.Count(before, "\n"), at-strings.LastIndex(before, "\n")
		hits = append(hits, fmt.Sprintf("%d:%d: ", line, column)+fmt.Sprintf(format, args...))
	}
	for _, r := range g.rules {
		for _, at := range r.phrase.FindAllStringIndex(prose, -1) {
			hit(at[0], "%q: say %s", prose[at[0]:at[1]], r.say)
		}
	}
	for _, at := range sentence.FindAllStringIndex(prose, -1) {
		if text := prose[at[0]:at[1]]; len(word.FindAllString(text, -1)) > g.longest {
			start := at[0] + word.FindStringIndex(text)[0]
			hit(start, "%d words in a sentence: at most %d", len(word.FindAllString(text, -1)), g.longest)
		}
	}
	return hits
}
