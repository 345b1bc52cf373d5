package agentcheck

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestDocIsWhole: docs/your-client.md has each check, and the dialogue in docs/agent.md is one.
func TestDocIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../../docs/your-client.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if row := fmt.Sprintf("| `%s` | %s |", c.name, c.doc); !strings.Contains(string(page), row) {
			t.Errorf("docs/your-client.md does not have the row\n%s", row)
		}
	}
	page, err = os.ReadFile("../../../docs/agent.md")
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for line := range strings.Lines(string(page)) {
		text, is := strings.CutPrefix(line, "< {")
		if !is {
			continue
		}
		said++
		if _, err := history.ParseLine([]byte(`{"lane":"client1","client":"client1",` + text)); err != nil {
			t.Errorf("docs/agent.md: %s%v", line, err)
		}
	}
	if said < 8 {
		t.Errorf("docs/agent.md has %d lines that a client says", said)
	}
}
