package judge_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// secondRuleNames are the names of all rules of the second judge.
func secondRuleNames() (names []string) {
	for _, rule := range secondLineRules {
		names = append(names, rule.name)
	}
	for _, rules := range [][]secondRule{secondProblemRules, secondCorruptions, secondBlockages} {
		for _, rule := range rules {
			names = append(names, rule.name)
		}
	}
	return append(names, secondExceptions...)
}

// noticed says whether a history is judged in another way without a rule. A rule for
// what cannot be judged is looked at only where that was found, and any other where
// all could be judged.
func noticed(rule string, lines []byte, events []*secondEvent, whole secondJudgement) bool {
	off := map[string]bool{rule: true}
	kind, _, _ := strings.Cut(rule, ":")
	found := slices.ContainsFunc(whole.Problems, func(p secondFinding) bool { return p.Kind == kind })
	switch {
	case found && kind == "line":
		return !whole.same(secondJudge(lines, off))
	case found, len(whole.Problems) == 0 && !slices.Contains(secondProblems, kind):
		return !whole.same(newSecondHistory(events, off).judge())
	}
	return false
}

// TestEveryRuleMatters: a rule of the second judge that is switched off is noticed,
// because one of so many random histories is then judged in another way.
func TestEveryRuleMatters(t *testing.T) {
	t.Parallel()
	most := uint64(10_000)
	left := secondRuleNames()
	for seed := uint64(0); seed < most && len(left) > 0; seed++ {
		lines := randomHistory(seed, 30)
		events, problem := readSecondEvents(lines, nil)
		whole := secondJudgement{Problems: []secondFinding{{"line", problem}}}
		if problem == 0 {
			whole = newSecondHistory(events, nil).judge()
		}
		left = slices.DeleteFunc(left, func(name string) bool {
			return noticed(name, lines, events, whole)
		})
	}
	if len(left) > 0 {
		t.Errorf("in %d histories nobody notices that these rules are off: %s", most, strings.Join(left, "; "))
	}
}

// firstJudgeMutations break the first judge, a rule each: in a file below the root of
// the module a text, which stands there once, becomes another.
var firstJudgeMutations = []struct{ file, text, replacement string }{
	{"internal/history/history.go", `KindDuplicate Kind = "duplicate"`, `KindDuplicate Kind = "double"`},
}

// TestEveryRuleOfTheFirstJudgeMatters: TestTwoJudges notices when one of them is broken.
func TestEveryRuleOfTheFirstJudgeMatters(t *testing.T) {
	if !longTests() {
		t.Skip("FENCELAB_LONG is not set")
	}
	for _, m := range firstJudgeMutations {
		file, err := filepath.Abs(filepath.Join("../..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.text); n != 1 {
			t.Errorf("%s has %q %d times, want it once", m.file, m.text, n)
			continue
		}
		out, err := judgeTwiceWith(t, file, strings.Replace(string(source), m.text, m.replacement, 1))
		if err == nil || !strings.Contains(out, "the judges differ") {
			t.Errorf("%s with %q instead of %q: want that the judges differ, got %v\n%s", m.file, m.replacement, m.text, err, out)
		}
	}
}

// judgeTwiceWith runs TestTwoJudges with another source in place of a file.
func judgeTwiceWith(t *testing.T, file, source string) (out string, err error) {
	t.Helper()
	dir := t.TempDir()
	broken, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	writeFile(t, broken, []byte(source))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: broken}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, overlay, replace)
	test := exec.Command("go", "test", "-count=1", "-run=^TestTwoJudges$", "-overlay="+overlay, ".", "-rapid.nofailfile")
	test.Env = append(os.Environ(), "FENCELAB_LONG=")
	text, err := test.CombinedOutput()
	return string(text), err
}

func writeFile(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
