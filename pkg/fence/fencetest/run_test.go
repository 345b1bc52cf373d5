package fencetest_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence/fencetest"
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

// ofRun is the variable that says on which store TestRunOf runs the laws.
const ofRun = "FENCETEST_RUN_OF"

// TestRunOf is for TestRunJudges.
func TestRunOf(t *testing.T) {
	switch os.Getenv(ofRun) {
	case "":
		t.Skip("TestRunJudges runs it")
	case "poor":
		fencetest.Run(t, fencetest.Subject{Open: subject(func() fencetest.Store { return newCorrect() }).Open, NoSequence: true, NoShared: true})
	case "broken":
		deaf := newByHand(rule)
		deaf.deafReads = true
		fencetest.Run(t, subject(func() fencetest.Store { return deaf }))
	}
}

// TestRunJudges: a store that can do less than the laws ask for passes, and the laws of what it cannot do are skipped. A
// broken store fails, by the laws that it breaks.
func TestRunJudges(t *testing.T) {
	run := func(of string) (said string, err error) {
		c := exec.Command(os.Args[0], "-test.run=^TestRunOf$", "-test.v")
		c.Env = append(os.Environ(), ofRun+"="+of)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	if said, err := run("poor"); err != nil || !strings.Contains(said, "--- SKIP: TestRunOf/SequenceOrders") {
		t.Errorf("a store that can do less: %v, want it to pass without the law SequenceOrders\n%s", err, said)
	}
	said, err := run("broken")
	var failed []string
	for _, law := range regexp.MustCompile(`--- FAIL: TestRunOf/(\w+)`).FindAllStringSubmatch(said, -1) {
		failed = append(failed, law[1])
	}
	if slices.Sort(failed); err == nil || !slices.Contains(failed, "StaleReadRefused") || slices.Contains(failed, "StaleWriteRefused") {
		t.Errorf("a broken store: %v, the laws %q failed; want a failure, StaleReadRefused among them, and not StaleWriteRefused\n%s", err, failed, said)
	}
}
