package learn_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/docs/course"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/learn"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// The test binary is its own servers, storage, clients and janitor.
func TestMain(m *testing.M) {
	proctest.Play(lab.Roles(all.List)...)
	proctest.SideBySide(8)
	os.Exit(m.Run())
}

// stories are the lessons whose exercise is a scenario. The others' is a storage.
const stories = 9

func lessons(t *testing.T) []learn.Lesson {
	t.Helper()
	list, err := learn.Lessons()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// setUp sets up an exercise in an empty directory.
func setUp(t *testing.T, l learn.Lesson) learn.Lesson {
	t.Helper()
	l.Parent = t.TempDir()
	if _, err := l.SetUp(); err != nil {
		t.Fatal(err)
	}
	return l
}

// answer puts the answer of an exercise in its place.
func answer(t *testing.T, l learn.Lesson) {
	t.Helper()
	err := os.RemoveAll(l.Dir())
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Sub(course.FS, fmt.Sprintf("exercises/%02d/answer", l.Number))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(l.Dir(), files); err != nil {
		t.Fatal(err)
	}
}

// check checks an exercise, up to five times where a busy machine leaves its story undecided.
func check(t *testing.T, l learn.Lesson) (missing []string, err error) {
	t.Helper()
	for n, undecided := 0, true; undecided && n < 5; n++ {
		undecided = false
		missing, err = l.Check(t.Context(), learn.Options{
			Exe: os.Args[0], Services: all.List,
			Ran: func(events []history.Event) error {
				j, err := judge.Judge(events)
				undecided = err == nil && j.Open()
				return nil
			},
			Law: func(_ laws.Report, r laws.Result) { t.Log(r.Law, r.Outcome, r.Why) },
		})
	}
	return missing, err
}

// TestAnswers: no exercise is solved at its start, and each is by its answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, l := range lessons(t) {
		t.Run(l.Dir(), func(t *testing.T) {
			t.Parallel()
			if l.Number > stories {
				need.Program(t, "python3", "to run the exercise's storage")
			}
			l = setUp(t, l)
			missing, err := check(t, l)
			if err != nil || len(missing) == 0 || l.IsSolved() {
				t.Errorf("at the start: %q, %v, solved: %t, want that something is missing", missing, err, l.IsSolved())
			}
			if l.Number <= stories && (len(missing) < 2 || !strings.Contains(missing[0], "story.yaml: nothing in the story was changed yet. ") || strings.Contains(strings.Join(missing, ""), "must")) {
				t.Errorf("at the start: %q, want that the story is as it is, and what came of it", missing)
			}
			answer(t, l)
			if missing, err := check(t, l); err != nil || len(missing) > 0 || !l.IsSolved() {
				t.Errorf("the answer lacks %q, %v; solved: %t", missing, err, l.IsSolved())
			}
		})
	}
}

// edit changes a file of an exercise.
func edit(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestWrongAnswers: what is not asked for does not solve an exercise, and it is said why.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lesson         int
		of             string // the start, or the answer
		from, to, want string
	}{
		{1, "start", "fencing: off", "fencing: on", "the storage must stay"},
		{1, "answer", "  - gcsim: pause client1 for 500ms\n  - gcsim: await client1\n", "", `the step "gcsim: pause client1" must stay`},
		{1, "answer", "client2: write key0=from-client-2\n", "client2: change key0=from-client-2 other=1\n", `the step "client2: write key0=from-client-2" must stay`},
		{1, "answer", "final: {key0: from-client-2}", "final: {key0: from-client-1}", "what you expect is not what happened"},
		{1, "answer", ", final: {key0: from-client-2}", "", "expect does not say the final value"},
		{1, "answer", "  - client1: finish\n  - client1: unlock\n", "", `the step "client1: finish" must stay`},
		{1, "start", "  - etcd: await expiry of client1\n", "", `the step "client2: lock" must come after "client1: finish"`},
		{1, "start", "verdict: corrupted", "verdict: safe", "story.yaml: only what is expected was changed, "}, // and it runs
		{1, "start", "verdict: corrupted", "verdict: safe", "the verdict is corrupted, want safe"},
		{9, "start", "stale: 0", "stale: 1", "Change the clients' settings and the world"},
		{2, "answer", " stale: 1,", "", "expect does not say how many requests are stale"},
		{9, "answer", "by: fenced", "by: token-apart", "client1 has by: token-apart"},
		{2, "start", "fencing: differs", "fencing: off", "the verdict is corrupted, want safe"},
		{2, "answer", "client2: write key0=from-client-2\n", "client2: change key0=from-client-2 other=1\n", "the steps must stay"},
		{2, "answer", "stale: 1", "stale: 0", "what you expect is not what happened"},
		{3, "answer", "fencing: off", "fencing: on", "the storage must stay"},
		{3, "answer", ", look: is-owner", "", "the clients and their settings must stay"},
		{3, "start", "verdict: safe", "verdict: corrupted", "the verdict is safe, want corrupted"},
		{4, "answer", "members: 3", "members: 1", "the lock service and its servers must stay"},
		{4, "answer", "token: revision", "token: lease", "the verdict is corrupted, want safe"},
		{5, "answer", "reads: plain", "reads: fenced", "the clients and their settings must stay"},
		{5, "answer", "client2: write counter=2", "client2: write counter=3", `the step "client2: write counter=2" must stay`},
		{6, "answer", "b: from-client-2", "b: from-client-1", "what you expect is not what happened"},
		{7, "answer", "  - gcsim: kill storage                      # kill -9\n  - gcsim: restart storage\n", "", "the steps must stay"},
		{8, "answer", ", numbered: true", "", "the verdict is corrupted, want safe"},
		{9, "start", "ttl: 2s", "ttl: 3s", "0 requests were refused as stale, want 1 or more"},
		{9, "answer", "fencing: on", "fencing: off", "the storage must stay"},
		{10, "start", "int(token) < mark", "False", "StaleWriteRefused: want"},
		{11, "answer", "int(token) < mark", "token < str(mark)", "TokensCompareAsNumbers: want"},
	} {
		l := lessons(t)[c.lesson-1]
		t.Run(fmt.Sprintf("%02d %s %s", c.lesson, c.of, c.to), func(t *testing.T) {
			t.Parallel()
			file := "story.yaml"
			if c.lesson > stories {
				need.Program(t, "python3", "to run the exercise's storage")
				file = "storage.py"
			}
			l = setUp(t, l)
			if c.of == "answer" {
				answer(t, l)
			}
			edit(t, filepath.Join(l.Dir(), file), c.from, c.to)
			missing, err := check(t, l)
			if err != nil || !slices.ContainsFunc(missing, func(m string) bool { return strings.Contains(m, c.want) }) {
				t.Errorf("got %q, %v, want that it is missing: %s", missing, err, c.want)
			}
		})
	}
}

// TestCannotBeChecked: what is no story, and what is no storage, is an error that names the
// file or what the storage did.
func TestCannotBeChecked(t *testing.T) {
	for name, c := range map[string]struct {
		lesson     int
		file, text string // "" where the file is gone
		want       string
	}{
		"no file":     {1, "story.yaml", "", "story.yaml: no such file"},
		"no YAML":     {1, "story.yaml", "steps: [", "lesson-01/story.yaml:1:"},
		"no scenario": {1, "story.yaml", "stepps: []", "lesson-01/story.yaml:1:1"},
		"no command":  {11, "command", "", "command: no such file"},
		"it ends":     {11, "command", "exit 7", "7"},
	} {
		t.Run(name, func(t *testing.T) {
			l := lessons(t)[c.lesson-1]
			if l.Number > stories && c.text != "" {
				need.Program(t, "sh", "to run the command")
			}
			l = setUp(t, l)
			file := filepath.Join(l.Dir(), c.file)
			if c.text == "" {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := check(t, l); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), l.Dir()) {
				t.Errorf("got %v, want an error with %q, and the exercise's directory", err, c.want)
			}
		})
	}
}

// TestSetUpOverwritesNothing: what a learner has changed is not written over.
func TestSetUpOverwritesNothing(t *testing.T) {
	l := lessons(t)[0]
	l = setUp(t, l)
	if _, err := l.SetUp(); err == nil {
		t.Error("it was set up twice")
	}
	if begun, err := l.IsSetUp(); !begun || err != nil {
		t.Errorf("IsSetUp() = %t, %v", begun, err)
	}
	other := lessons(t)[1]
	other.Parent = l.Parent
	if begun, err := other.IsSetUp(); begun || err != nil {
		t.Errorf("IsSetUp() of another = %t, %v", begun, err)
	}
}

// TestPages: each page shows its answer as it is, says where it stands in the course, and the
// course has it in its table.
func TestPages(t *testing.T) {
	list := lessons(t)
	read := func(name string) string {
		text, err := fs.ReadFile(course.FS, name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	index := read("README.md")
	minutes := 0
	for i, l := range list {
		minutes += l.Minutes
		text := read(filepath.Base(l.Page()))
		file := "story.yaml"
		if l.Number > stories {
			file = "storage.py"
		}
		want := []string{
			read(fmt.Sprintf("exercises/%02d/answer/%s", l.Number, file)) + "```",
			"\n## Predict\n", "\n## Further\n", "\nWrite your answer down. Then run it:\n\n    gcsim ",
			fmt.Sprintf("\n    gcsim learn %d\n", l.Number), "(README.md)", "(glossary.md)",
		}
		if i > 0 {
			want = append(want, link("← ", list[i-1], ""))
		}
		if i+1 < len(list) {
			want = append(want, link("", list[i+1], " →"))
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s lacks\n%s", l.Page(), w)
			}
		}
		row := fmt.Sprintf("| %d. [%s](%s) | ", l.Number, l.Title, filepath.Base(l.Page()))
		if !strings.Contains(index, row) || !strings.Contains(index, fmt.Sprintf(" | %d |\n", l.Minutes)) {
			t.Errorf("docs/course/README.md has no row %s… with %d minutes", row, l.Minutes)
		}
	}
	if all := fmt.Sprintf("%d hours and %d minutes", minutes/60, minutes%60); !strings.Contains(index, all) {
		t.Errorf("docs/course/README.md does not say that all takes %s", all)
	}
}

func link(before string, l learn.Lesson, after string) string {
	return fmt.Sprintf("[%s%d. %s%s](%s)", before, l.Number, l.Title, after, filepath.Base(l.Page()))
}
