package prose

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const words = `# Contributing

## Words

| say | not | because |
|---|---|---|
| holder | ` + "`owner`, `lock's client`" + ` | one word |
| release | ` + "`give … back`" + ` | |
| 2 | ` + "`1 + 1`" + ` | |

A sentence has at most 5 words.

## More

A sentence has at most 9 words.
`

func TestCheck(t *testing.T) {
	g, err := readGuide(words)
	if err != nil {
		t.Fatal(err)
	}
	owner, back, long := `"owner": say holder`, `say release`, "6 words in a sentence: at most 5"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"another word":              {"The holder writes.", nil},
		"a word":                    {"# Lock\n\nThe owner writes.", []string{"3:5: " + owner}},
		"each hit":                  {"owner, owner", []string{"1:1: " + owner, "1:8: " + owner}},
		"capitals":                  {"Owner", []string{`1:1: "Owner": say holder`}},
		"a part of a word":          {"ownership, landowner", nil},
		"two words":                 {"A lock's client waits.", []string{`1:3: "lock's client": say holder`}},
		"no words between":          {"They give back.", nil},
		"one word between":          {"They give it back.", []string{`1:6: "give it back": ` + back}},
		"three words between":       {"Give its old lock back.", []string{`1:1: "Give its old lock back": ` + back}},
		"four words between":        {"Give a b c d back.", []string{"1:1: " + long}},
		"the next sentence between": {"They give. Come back.", nil},
		"another sentence between":  {"They give it. Come back.", nil},
		"more than letters":         {"Exit with 1 + 1.", []string{`1:11: "1 + 1": say 2`}},
		"less than that":            {"Exit with 11.", nil},
		"code":                      {"`owner`", nil},
		"after code":                {"`…` owner", []string{"1:7: " + owner}},
		"an indented line":          {"Run:\n\n    owner a b c d e f\n", nil},
		"a block of code":           {"```go\nowner\n```\n\nowner", []string{"5:1: " + owner}},
		"what a template fills in":  {`{{owner}}`, nil},
		"a tag":                     {`<a name=owner>`, nil},
		"a quotation":               {`It says "the owner".`, nil},
		"a page of others":          {"[The owner](https://example.org/)", nil},
		"a link's text":             {"[The owner](holder.md)", []string{"1:6: " + owner}},
		"a link's target":           {"[The holder](owner.md)", nil},
		"a cell":                    {"| a | owner |", []string{"1:7: " + owner}},
		"a sentence at the bound":   {"One two three four five.", nil},
		"a sentence above it":       {"One two three four five six.", []string{"1:1: " + long}},
		"the second sentence":       {"One. One two three four five six.", []string{"1:6: " + long}},
		"code is a word":            {"`a b` two three four five six", []string{"1:1: " + long}},
		"an end in a link":          {"One [two three.](x.md) Four five six.", nil},
		"a list's item":             {"- One two three four five six", []string{"1:3: " + long}},
		"two sentences":             {"One two three. Four *five six.* Seven.", nil},
		"two lines":                 {"One two three\nfour five six", nil},
		"two cells":                 {"| one two three | four five six |", nil},
		"a long cell":               {"| one | one two three four five six |", []string{"1:9: " + long}},
		"two lines of a cell":       {"one two three<br>four five six seven", nil},
		"a semicolon":               {"one two three; four five six", nil},
		"dashes and signs":          {"one – two = three … four ± five", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := g.check(c.text); !slices.Equal(got, c.want) {
				t.Errorf("%q\ngot  %q\nwant %q", c.text, got, c.want)
			}
		})
	}
}

// TestGuide: what cannot be read is an error, so that no rule is left out in silence.
func TestGuide(t *testing.T) {
	for old, wrong := range map[string]string{
		"## Words":                        "## Other words",
		"A sentence has at most 5 words.": "Sentences are short.",
		"`owner`, `lock's client`":        "owner",
		"`lock's client`":                 "`etc.`",
		"|---|---|---|":                   "|:--|---|---|",
	} {
		if _, err := readGuide(strings.Replace(words, old, wrong, 1)); err == nil {
			t.Errorf("a guide with %q in place of %q can be read", wrong, old)
		}
	}
}

// readContributing reads the guide of the repository.
func readContributing(t *testing.T) guide {
	t.Helper()
	document, err := os.ReadFile(root + "CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	g, err := readGuide(string(document))
	if err != nil {
		t.Fatalf("CONTRIBUTING.md: %v", err)
	}
	return g
}

const root = "../../../"

// TestContributing: what CONTRIBUTING.md says is looked for.
func TestContributing(t *testing.T) {
	g := readContributing(t)
	for _, text := range []string{"Only then does the owner of a lock write.", "An easy one.", strings.Repeat("word ", 36)} {
		if g.check(text) == nil {
			t.Errorf("no hit in %q", text)
		}
	}
	if hits := g.check("The holder of the lock writes. " + strings.Repeat("word ", 35)); hits != nil {
		t.Errorf("hits in what is right: %q", hits)
	}
}

// TestDocuments: all documents keep to the guide.
func TestDocuments(t *testing.T) {
	g, seen, hits := readContributing(t), 0, 0
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".md.tmpl") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, hit := range g.check(string(text)) {
			t.Errorf("%s:%s", strings.TrimPrefix(path, root), hit)
			hits++
		}
		seen++
		return err
	})
	if err != nil || seen == 0 {
		t.Errorf("%d documents, %v", seen, err)
	}
	if hits > 0 {
		t.Errorf("%d hits; CONTRIBUTING.md has the words", hits)
	}
}
