package clientcmd_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
)

// TestAgentOnATerminal: it speaks to people there, and in JSON where that is asked for.
func TestAgentOnATerminal(t *testing.T) {
	t.Parallel()
	p := onTerminal(t, clienttest.New(t), `$agent; echo shell again; $agent --json --words`)
	p.wantShown(t, "ready\r\n")
	p.enter(t, "lock\n")
	p.wantShown(t, "asks: lock /lock\r\n")
	p.wantShown(t, "done: lock /lock (token ")
	p.enter(t, "write k=v\n")
	if before := p.wantShown(t, "done: write k=v (token "); strings.Contains(before, "{") {
		t.Errorf("on a terminal it says\n%s", before)
	}
	p.enter(t, "\x04")
	p.wantShown(t, "done: unlock /lock (token ")
	p.wantShown(t, "shell again\r\n")
	p.enter(t, "read k\n\x04")
	p.wantShown(t, "done: read k: v\r\n")
	p.wantShown(t, `"kind":"ok","op":"read"`)
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// TestAgentInWords: where its lines are for a program it speaks to people only if it is
// told to, and beside the lines.
func TestAgentInWords(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	for _, tt := range []struct{ flag, want string }{{"--words=false", ""}, {"--words", "ready\n"}} {
		code, stdout, stderr := status(t, w.Args("agent", tt.flag)...)
		if code != 0 || stderr != tt.want || !strings.Contains(stdout, `"text":"ready"`) {
			t.Errorf("%s: status %d, and it says\n%s\nand\n%s", tt.flag, code, stdout, stderr)
		}
	}
}
