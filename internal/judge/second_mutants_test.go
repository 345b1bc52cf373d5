package judge_test

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// manyHistories is how many a broken rule is looked for in.
const manyHistories = 100_000

// corpusEntry is a history with what the second judge says of it. No mutation changes either, so both
// are made once, and a broken first judge is held against them.
type corpusEntry struct {
	Lines  []byte
	Second secondJudgement
}

// TestEveryRuleOfTheFirstJudgeMatters: a first judge with a broken rule differs from the second one.
func TestEveryRuleOfTheFirstJudgeMatters(t *testing.T) {
	if !longTests() {
		t.Skip("it builds the first judge some hundred times: make mutants")
	}
	corpus := writeCorpus(t)
	if out, err := judgeCorpusWith(t, corpus, "verdict/judge.go", func(s string) string { return s }); err != nil {
		t.Fatalf("nothing is broken, and yet: %v\n%s", err, out)
	}
	for _, m := range firstJudgeMutations {
		t.Run(m.file+": "+m.text+" becomes "+m.replacement, func(t *testing.T) {
			t.Parallel()
			out, err := judgeCorpusWith(t, corpus, filepath.Join("../..", m.file), func(s string) string {
				return strings.Replace(s, m.text, m.replacement, 1)
			})
			if err == nil || !strings.Contains(out, "--- FAIL: TestFirstJudgeOfCorpus") {
				t.Errorf("want that TestFirstJudgeOfCorpus fails, got %v\n%s", err, out)
			}
		})
	}
}

func writeCorpus(t *testing.T) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "corpus")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buffered := bufio.NewWriter(f)
	to := gob.NewEncoder(buffered)
	seeds := rand.New(rand.NewPCG(1, 0))
	for range manyHistories {
		lines := randomHistory(seeds.Uint64(), 8+seeds.IntN(25))
		if err := to.Encode(corpusEntry{lines, secondJudge(lines, nil)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := buffered.Flush(); err != nil {
		t.Fatal(err)
	}
	return name
}

// corpusVar names the file of the histories for TestFirstJudgeOfCorpus.
const corpusVar = "FENCELAB_CORPUS"

// TestFirstJudgeOfCorpus fails at the first history of which the judges differ.
func TestFirstJudgeOfCorpus(t *testing.T) {
	name := os.Getenv(corpusVar)
	if name == "" {
		t.Skip("TestEveryRuleOfTheFirstJudgeMatters runs it, with " + corpusVar)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	from := gob.NewDecoder(bufio.NewReader(f))
	for {
		var j corpusEntry
		switch err := from.Decode(&j); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatal(err)
		}
		if first := firstJudge(j.Lines); !first.agrees(j.Second) {
			t.Fatalf("the judges differ: %v, %v\n%s", first, j.Second, numbered(j.Lines))
		}
	}
}

// judgeCorpusWith runs TestFirstJudgeOfCorpus with a file's source broken.
func judgeCorpusWith(t *testing.T, corpus, file string, broken func(string) string) (out string, err error) {
	t.Helper()
	whole, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	other, overlay := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json")
	writeFile(t, other, []byte(broken(string(source))))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{whole: other}})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, overlay, replace)
	test := exec.Command("go", "test", "-count=1", "-vet=off", "-run=^TestFirstJudgeOfCorpus$", "-overlay="+overlay, ".")
	test.Env = append(os.Environ(), corpusVar+"="+corpus)
	text, err := test.CombinedOutput()
	return string(text), err
}

func writeFile(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
