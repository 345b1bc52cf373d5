package ci

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyText has much that could be markup.
var anyText = rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a \n\r\x1b\x00\\`*_{}[]<>()#+!|~&@:.-"))))

// TestMarkdownStaysATable: no text ends a cell or a line, or becomes markup.
func TestMarkdownStaysATable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := anyText.Draw(rt, "text")
		got := markdown(s)
		plain := strings.NewReplacer(`\\`, "", `\|`, "", `\<`, "", "\\`", "", `\*`, "", `\_`, "", `\[`, "", `\]`, "").Replace(got)
		if strings.ContainsAny(plain, "\n\r|<`*_[]\x1b\x00") {
			rt.Fatalf("%q → %q", s, got)
		}
	})
	for text, want := range map[string]string{
		"see www.example.com": `see www\.example\.com`, // a link by itself on GitHub
		"1. first":            `1\. first`,             // a list, where it begins an item
		"- first":             `\- first`,
		"---":                 `\---`,
		"01-gc-pause":         "01-gc-pause",
	} {
		if got := markdown(text); got != want {
			t.Errorf("%q → %q, want %q", text, got, want)
		}
	}
}
