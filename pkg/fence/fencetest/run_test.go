package fencetest_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestRunSaysWhatItDid: how long it took, and with -short which laws it left out, by name.
func TestRunSaysWhatItDid(t *testing.T) {
	for _, tt := range []struct {
		short string
		want  string
	}{
		{"-test.short", `(?s)left out: TimeKeepsMark: [^\n]*the tests are short.* \d+ laws took [\d.]+m?s, 1 left out`},
		{"-test.short=false", ` \d+ laws took [\d.]+m?s, 0 left out`},
	} {
		said, err := exec.Command(os.Args[0], "-test.run=^TestCorrectStoreObeysAllLaws$", "-test.v", tt.short).CombinedOutput()
		if err != nil || !regexp.MustCompile(tt.want).Match(said) {
			t.Errorf("%s: %v, want %q\n%s", tt.short, err, tt.want, said)
		}
	}
}
