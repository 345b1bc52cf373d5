package scenario_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/tools/golden"
)

// TestErrors: each error names the place and says what was meant instead.
func TestErrors(t *testing.T) {
	const file = "testdata/errors.txt"
	good := text(t, "testdata/good.yaml")
	parse(t, good)
	blocks := strings.Split(text(t, file), "\n\n")
	for i, block := range blocks[1:] {
		lines := strings.SplitN(strings.TrimSuffix(block, "\n"), "\n", 3)
		unescape := strings.NewReplacer(`\\`, `\`, `\n`, "\n")
		from := unescape.Replace(strings.TrimSuffix(strings.TrimPrefix(lines[0], "- "), "|"))
		to := unescape.Replace(strings.TrimSuffix(strings.TrimPrefix(lines[1], "+ "), "|"))
		if !strings.Contains(good, from) {
			t.Fatalf("good.yaml has no %q", from)
		}
		_, err := language.Parse("s.yaml", "s", []byte(strings.Replace(good, from, to, 1)))
		if err == nil {
			t.Errorf("%s\n%s\nis taken", lines[0], lines[1])
			continue
		}
		blocks[1+i] = strings.Join(append(lines[:2], err.Error()), "\n")
	}
	golden.Check(t, file, strings.Join(blocks, "\n\n")+"\n")
}

// TestStories: what can and what cannot happen.
func TestStories(t *testing.T) {
	const file = "testdata/stories.txt"
	blocks := strings.Split(text(t, file), "\n\n")
	for i, block := range blocks[1:] {
		tale, _, _ := strings.Cut(block, "\n=> ")
		s, err := language.Parse("s", "s", []byte(story(tale)))
		outcome := "it can happen"
		if err != nil {
			outcome, _, _ = strings.Cut(err.Error(), "\n")
		} else {
			spellsSteps(t, tale, s)
		}
		blocks[1+i] = strings.TrimSuffix(tale, "\n") + "\n=> " + outcome
	}
	golden.Check(t, file, strings.Join(blocks, "\n\n")+"\n")
}

// spellsSteps: a step's text is that of the file.
func spellsSteps(t *testing.T, tale string, s *scenario.Scenario) {
	t.Helper()
	var got strings.Builder
	for _, step := range s.Variants[0].Steps {
		got.WriteString(step.String() + "\n")
	}
	if !strings.HasSuffix(strings.TrimSuffix(tale, "\n")+"\n", got.String()) {
		t.Errorf("the steps of\n%s\nare\n%s", tale, got.String())
	}
}

// story makes a scenario of lines. Those that begin with "set" or "expect" go
// into its one variant, the others are steps.
func story(lines string) string {
	var steps, set, expect strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "set "); ok {
			set.WriteString("      " + rest + "\n")
		} else if rest, ok := strings.CutPrefix(line, "expect "); ok {
			expect.WriteString("      " + rest + "\n")
		} else {
			steps.WriteString("- " + line + "\n")
		}
	}
	return "steps:\n" + steps.String() + `title: t
clients: {client1: {lock: /l}, client2: {lock: /l}, client3: {lock: /m}}
variants:
  only:
    control: true
    set:
      clients.client3.ttl: 3s
` + set.String() + "    expect:\n      verdict: blocked\n" + expect.String()
}

// TestExcerpt: the excerpt shows the place, whatever stands before it.
func TestExcerpt(t *testing.T) {
	for name, tt := range map[string]struct{ data, want string }{
		"blank lines": {"\n\n# é\n\ntitle: t\n\n\nlessons: x\n", "s:8:1: unknown key \"lessons\": did you mean lesson?\n   6 |\n   7 |\n   8 | lessons: x\n     | ^"},
		"mark":        {"\ufefftitel: t\n", "s:1:1: unknown key \"titel\": did you mean title?\n   1 | titel: t\n     | ^"},
		"returns":     {"title: t\r\n\r\nlessons: x\r\n", "s:3:1: unknown key \"lessons\": did you mean lesson?\n   1 | title: t\n   2 |\n   3 | lessons: x\n     | ^"},
		"wide":        {"{title: 世界é, lessons: x}\n", "s:1:14: unknown key \"lessons\": did you mean lesson?\n   1 | {title: 世界é, lessons: x}\n     |                ^"},
		"controls":    {"{title: \"\x1b\", lessons: x}\n", "s:1:10: a text has no control characters, like this U+001B\n   1 | {title: \"\ufffd\", lessons: x}\n     |          ^"},
		"old returns": {"title: t\r\rlessons: x\r", "s:3:1: unknown key \"lessons\": did you mean lesson?\n   1 | title: t\n   2 |\n   3 | lessons: x\n     | ^"},
		"Latin-1":     {"title: t\nlesson: \xdcb\n", "s:2:9: this is not UTF-8: save the file as UTF-8\n   1 | title: t\n   2 | lesson: \ufffdb\n     |         ^"},
		"UTF-16":      {"\xff\xfet\x00:\x00", "s:1:1: this is not UTF-8: save the file as UTF-8\n   1 | \ufffd\ufffdt\ufffd:\ufffd\n     | ^"},
		"too large":   {"# " + strings.Repeat("x", 64<<10), "s: it has 65538 bytes, and a scenario has 65536 at most"},
		"ten lines":   {"title: t\nlesson: |\n" + strings.Repeat("  x\n\n", 4) + "lessons: x\n", "s:11:1: unknown key \"lessons\": did you mean lesson?\n    9 |   x\n   10 |\n   11 | lessons: x\n      | ^"},
	} {
		_, err := language.Parse("s", "s", []byte(tt.data))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, tt.want)
		}
	}
}

func TestNoDocument(t *testing.T) {
	for _, data := range []string{"", "\n", "# nothing\n", "a: b\n---\nc: d\n", "a: b\n...\nc: d\n", "...\n", "[]", "text", "{}"} {
		if _, err := language.Parse("s.yaml", "s", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%q: got %v, want an error that names the file", data, err)
		}
	}
}

// TestReturns: how lines end makes no difference.
func TestReturns(t *testing.T) {
	want := text(t, "testdata/full.yaml")
	for _, end := range []string{"\r\n", "\r"} {
		if diff := cmp.Diff(parse(t, want), parse(t, strings.ReplaceAll(want, "\n", end)), cmpopts.IgnoreFields(scenario.Step{}, "Form")); diff != "" {
			t.Errorf("%q: %s", end, diff)
		}
	}
}
