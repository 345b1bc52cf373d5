package agent

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestProtocolIsWrittenDown: docs/agent.md names every command, and no other, and the
// version.
func TestProtocolIsWrittenDown(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	_, table, ok := strings.Cut(doc, "\n## Commands\n")
	if !ok {
		t.Fatal("docs/agent.md has no commands")
	}
	var written, known []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		written = append(written, strings.ReplaceAll(row[1], `\|`, "|"))
	}
	for _, v := range new(agent).verbs() {
		known = append(known, v.usage())
	}
	if !slices.Equal(written, known) {
		t.Errorf("docs/agent.md has the commands\n%q, the agent\n%q", written, known)
	}
	for _, want := range []string{"protocol is `" + Protocol + "`", `"key":"protocol","value":"` + Protocol + `","text":"ready"`} {
		if !strings.Contains(doc, want) {
			t.Errorf("docs/agent.md does not say %s", want)
		}
	}
}
