package judge_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

func longTests() bool { return os.Getenv("FENCELAB_MUTANTS") != "" }

// randomHistory is one that is judged, about half the time, or one with problems.
func randomHistory(seed uint64, steps int) []byte {
	w := newSecondWorld(seed, steps)
	switch n := w.IntN(100); {
	case n < 13:
		return w.breakLine(w.jsonl())
	case n < 59:
		w.mutate()
	}
	return w.jsonl()
}

// firstJudge judges by the packages history and verdict.
func firstJudge(lines []byte) secondJudgement {
	events, err := history.Read(bytes.NewReader(lines))
	if err != nil {
		broken := new(history.LineError)
		if !errors.As(err, &broken) {
			return secondJudgement{Name: err.Error()}
		}
		return secondJudgement{Problems: []secondFinding{{"line", broken.Line, 0}}}
	}
	var j secondJudgement
	for _, p := range history.Check(events) {
		j.Problems = append(j.Problems, secondFinding{string(p.Kind), p.Line, p.Against})
	}
	if len(j.Problems) > 0 {
		return j.sorted()
	}
	v := verdict.Judge(events)
	j = secondJudgement{Name: v.Name, Stale: v.Stale, Refused: v.Refused, Ordered: v.Ordered, Exclusive: v.Exclusive, Final: v.Final}
	if v.Fair != nil {
		j.Fair = map[bool]string{true: "yes", false: "no"}[*v.Fair]
	}
	for _, violation := range v.Violations {
		j.Violations = append(j.Violations, secondFinding{string(violation.Kind), violation.Event + 1, 0})
	}
	return j.sorted()
}

// secondProblems are the kinds of what makes that a history cannot be judged.
var secondProblems = []string{"line", "time", "lane", "account", "tenure", "request", "index", "token", "final", "end"}

// agrees says whether the first judge says what the second one does. Where a line is wrong
// in several ways of one kind the first judge may name one of them.
func (j secondJudgement) agrees(second secondJudgement) bool {
	for _, p := range j.Problems {
		if !slices.Contains(second.Problems, p) {
			return false
		}
	}
	j.Problems, second.Problems = kindsAndLines(j.Problems), kindsAndLines(second.Problems)
	return j.same(second)
}

func kindsAndLines(found []secondFinding) (lines []secondFinding) {
	for _, f := range found {
		lines = append(lines, secondFinding{f.Kind, f.Line, 0})
	}
	return sortFindings(lines)
}

// seen counts in how many histories each verdict and each kind is.
type seen map[string]int

func (s seen) add(j secondJudgement) {
	s["histories"]++
	kinds := map[string]bool{"verdict " + j.Name: j.Name != "", "fair " + j.Fair: j.Fair != ""}
	for _, p := range j.Problems {
		kinds["problem "+p.Kind] = true
	}
	for _, v := range j.Violations {
		kinds["violation "+v.Kind] = true
	}
	for kind, is := range kinds {
		if is {
			s[kind]++
		}
	}
}

// require fails where what is named comes in fewer histories than one in so many.
func (s seen) require(t *testing.T, oneIn int, what string, names ...string) {
	t.Helper()
	for _, name := range names {
		if n := s[what+" "+name]; n*oneIn < s["histories"] {
			t.Errorf("%d of %d histories have %s %s, want one in %d", n, s["histories"], what, name, oneIn)
		}
	}
}

// TestTwoJudges: the judge that is package verdict, and the one that was written
// from the page alone, say the same of any history. A draw of rapid costs more than
// a history, so rapid draws a seed for many of them. The histories are the same each
// time, unless -rapid.seed asks for others.
func TestTwoJudges(t *testing.T) {
	t.Parallel()
	if seed := flag.Lookup("rapid.seed"); seed.Value.String() == "0" {
		if err := seed.Value.Set("1"); err != nil {
			t.Fatal(err)
		}
		defer seed.Value.Set("0")
	}
	each, rare := 30, 300 // histories in each of rapid's 100 rounds
	if longTests() {
		each, rare = 1000, 150
	}
	all := make(seen)
	rapid.Check(t, func(rt *rapid.T) {
		seeds := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		for range each {
			lines := randomHistory(seeds.Uint64(), 8+seeds.IntN(25))
			second := secondJudge(lines, nil)
			all.add(second)
			if !firstJudge(lines).agrees(second) {
				lines = smallest(lines, func(lines []byte) bool { return !firstJudge(lines).agrees(secondJudge(lines, nil)) })
				diff := cmp.Diff(firstJudge(lines), secondJudge(lines, nil), cmpopts.EquateEmpty())
				rt.Fatalf("the judges differ (-first +second):\n%s\n%s", diff, numbered(lines))
			}
		}
	})
	if t.Failed() {
		return
	}
	all.require(t, 11, "verdict", "safe", "corrupted", "blocked")
	all.require(t, rare, "verdict", "undecided")
	all.require(t, 10, "problem", secondProblems...)
	all.require(t, rare, "violation", "stale", "unheld", "unguarded", "shared", "late", "lost", "denied", "torn", "refused", "not-granted", "orphaned", "deadlocked")
	all.require(t, rare, "fair", "yes", "no")
}

// smallest leaves out of a history each line without which it is still so.
func smallest(jsonl []byte, still func([]byte) bool) []byte {
	lines := bytes.SplitAfter(jsonl, []byte("\n"))
	for i := len(lines) - 1; i > 0; i-- {
		fewer := slices.Delete(slices.Clone(lines), i, i+1)
		if less := bytes.Join(fewer, nil); still(less) {
			lines = fewer
		}
	}
	return bytes.Join(lines, nil)
}

// numbered is a history with its lines' numbers.
func numbered(lines []byte) (text string) {
	for i, line := range bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n")) {
		text += fmt.Sprintf("%2d %s\n", i+1, line)
	}
	return text
}
