// Package learn sets up the exercises of the course, and says whether they are solved.
package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/docs/course"
	example "github.com/fencelab/fencelab/examples/storage"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// Lesson is one of the course.
type Lesson struct {
	Number  int
	Title   string
	Minutes int    // that it takes
	Task    string // what is to be done, in Markdown
	Parent  string // the directory in which the exercise is set up; "" is the working directory
	kind    exercise
}

// Page is the file of the lesson's page.
func (l Lesson) Page() string { return "docs/course/" + pageOf(l.Number) }

// Dir is where the exercise is set up.
func (l Lesson) Dir() string { return filepath.Join(l.Parent, fmt.Sprintf("lesson-%02d", l.Number)) }

func pageOf(number int) string { return fmt.Sprintf("lesson-%02d.md", number) }

// Lessons are all, in order.
func Lessons() (list []Lesson, err error) {
	err = fail.Caught(func() {
		for i, kind := range exercises {
			list = append(list, read(i+1, kind))
		}
	})
	return list, err
}

var (
	titleLine   = regexp.MustCompile(`(?m)\A# (\d+)\. (.+)$`)
	minutesWord = regexp.MustCompile(`\b(\d+) minutes\b`)
	taskPart    = regexp.MustCompile(`(?s)\n## Exercise\n(.*?)\n\n    gcsim learn \d+\n`)
)

func read(number int, kind exercise) Lesson {
	text := fail.Must(fs.ReadFile(course.FS, pageOf(number)))
	l := Lesson{Number: number, kind: kind}
	title, minutes, task := titleLine.FindSubmatch(text), minutesWord.FindSubmatch(text), taskPart.FindSubmatch(text)
	if title == nil || minutes == nil || task == nil || string(title[1]) != strconv.Itoa(number) {
		fail.If(fmt.Errorf("%s: want a title with its number, its minutes, and an exercise with an answer", l.Page()))
	}
	l.Title, l.Task = string(title[2]), strings.TrimSpace(string(task[1]))
	l.Minutes = fail.Must(strconv.Atoi(string(minutes[1])))
	return l
}

// SetUp writes the files with which the exercise begins into its directory, which must not be there yet.
func (l Lesson) SetUp() (files []string, err error) {
	err = fail.Caught(func() {
		fail.If(os.Mkdir(l.Dir(), 0o777))
		fail.If(os.CopyFS(l.Dir(), fail.Must(fs.Sub(course.FS, l.exercise("start")))))
		if e, ok := l.kind.(storageCommand); ok && e.program != nil {
			fail.If(os.WriteFile(filepath.Join(l.Dir(), programFile), e.program, 0o666))
		}
		fail.If(fs.WalkDir(os.DirFS(l.Dir()), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, filepath.Join(l.Dir(), name))
			}
			return err
		}))
	})
	return files, err
}

// IsSetUp reports whether the exercise's directory is there.
func (l Lesson) IsSetUp() (bool, error) {
	info, err := os.Stat(l.Dir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is no directory: the exercise goes there, so move the file away", l.Dir())
	}
	return err == nil, err
}

// IsSolved reports whether Check has found the exercise solved.
func (l Lesson) IsSolved() bool {
	_, err := os.Stat(filepath.Join(l.Dir(), solvedFile))
	return err == nil
}

func (l Lesson) exercise(part string) string {
	return path.Join("exercises", fmt.Sprintf("%02d", l.Number), part)
}

// Options of Check.
type Options struct {
	Exe      string // a program that has the roles of packages lab and program
	Services []*service.Service
	// Ran is told of a story that was run, also of one that could not go on.
	Ran func([]history.Event) error
	// Law is told of each law that was judged.
	Law func(laws.Report, laws.Result)
}

// solvedFile is there once the exercise was solved.
const solvedFile = "solved"

// Check says what is missing in a solution of the exercise; nothing where the exercise is
// solved. An error says why the solution cannot be checked.
func (l Lesson) Check(ctx context.Context, o Options) (missing []string, err error) {
	err = fail.Caught(func() {
		if missing = l.kind.check(ctx, l, o); len(missing) == 0 {
			fail.If(os.WriteFile(filepath.Join(l.Dir(), solvedFile), nil, 0o666))
		}
	})
	if err != nil {
		err = fmt.Errorf("%s cannot be checked: %w", l.Dir(), err)
	}
	return missing, err
}

type exercise interface {
	// check fails where the solution cannot be checked.
	check(context.Context, Lesson, Options) (missing []string)
}

var exercises = []exercise{
	story{verdict: history.Safe, may: steps, keep: [][]string{{ // client1's write comes first
		"client1: lock", "client1: begin write key0=from-client-1", "gcsim: pause client1", "client1: finish",
		"client2: lock", "client2: write key0=from-client-2",
	}}},
	story{verdict: history.Safe, may: storage, counts: true},
	story{verdict: history.Corrupted, may: steps, keep: [][]string{
		{"client1: lock", "client1: begin write key0=from-client-1", "client1: finish"},
		{"client2: lock", "client2: write key0=from-client-2"},
	}},
	story{verdict: history.Safe, may: clients, counts: true},
	story{verdict: history.Safe, may: steps, counts: true, keep: [][]string{{
		"client1: lock", "client1: write counter=1", "client1: begin write counter=2", "gcsim: pause client1", "etcd: await expiry of client1",
		"client2: lock", "client2: read counter", "gcsim: resume client1", "client1: finish", "client2: write counter=2",
	}}},
	story{verdict: history.Safe, may: steps, counts: true, keep: [][]string{{
		"client1: lock", "client1: begin write b=from-client-1", "gcsim: revoke client1", "client2: lock", "client2: write a=from-client-2", "client1: finish",
	}}},
	story{verdict: history.Safe, may: storage, counts: true},
	story{verdict: history.Safe, may: clients, counts: true},
	story{verdict: history.Safe, may: clients | servers, counts: true, stale: 1, not: map[string]string{
		"token-apart": "it counts the token in a step of its own, and the pitfall of docs/redis/07-token-apart.md is open",
	}},
	storageCommand{program: example.Python, fails: "CheckAndWriteAreOneStep", holds: []string{"StaleWriteRefused", "NewerTokenReplaces", "DeleteKeepsMark", "RestartKeepsMark"}},
	storageCommand{},
}

// storageCommand is an exercise about a storage, which the line in commandFile starts.
type storageCommand struct {
	program []byte   // programFile, with which it begins; nil: the one among the lesson's files
	fails   string   // a law that it has to break; "" where all have to hold
	holds   []string // laws that have to hold; nil: all that are not left out
}

const (
	commandFile = "command"
	programFile = "storage.py"
)

func (e storageCommand) check(ctx context.Context, l Lesson, o Options) (missing []string) {
	text := fail.Must(os.ReadFile(filepath.Join(l.Dir(), commandFile)))
	dir := fail.Must(filepath.Abs(l.Dir()))
	command := "env -C '" + strings.ReplaceAll(dir, "'", `'\''`) + "' " + strings.TrimSpace(string(text))
	only := e.holds
	if e.fails != "" {
		only = append(slices.Clone(only), e.fails)
	}
	report := fail.Must(laws.Judge(ctx, laws.Options{
		Commands: []string{command}, Exe: o.Exe, Timeout: lawTimeout, Idle: lawIdle, Scopes: lawScopes, Only: only, Tell: o.Law,
	}))
	for _, r := range report.Results {
		want := cmp.Or(map[string]string{e.fails: laws.Fails}[r.Law], laws.Holds)
		if r.Outcome != want && (r.Outcome != laws.LeftOut || e.holds != nil) {
			missing = append(missing, fmt.Sprintf("%s: want %q, got %q", r.Law, want, r.Outcome))
		}
	}
	return missing
}

// Bounds of the laws: for how long a request may take, and little of what shows marks that are
// dropped after a while, or where there are many. A learner waits for the judgement.
const (
	lawTimeout = 10 * time.Second
	lawIdle    = time.Second
	lawScopes  = 2000
)

// parts are what may be changed in a story, beside what is expected of it.
type parts int

const (
	steps parts = 1 << iota
	clients
	storage
	servers
)

// story is an exercise in which a scenario has to be changed so that it ends by a verdict,
// and its expectations say how it ends.
type story struct {
	verdict string
	may     parts
	keep    [][]string        // texts of steps that must stay, each list in its order
	counts  bool              // what is expected has to say how many requests are stale
	stale   int               // how many must have been refused as stale, at least
	not     map[string]string // recipes that no client may use, and why
}

const storyFile = "story.yaml"

func (e story) check(ctx context.Context, l Lesson, o Options) (missing []string) {
	language := lab.Language(o.Services)
	file := filepath.Join(l.Dir(), storyFile)
	s := fail.Must(language.Parse(file, "story", fail.Must(os.ReadFile(file))))
	text := fail.Must(fs.ReadFile(course.FS, l.exercise("start/"+storyFile)))
	start := fail.Must(language.Parse(storyFile, "story", text))
	if len(s.Variants) != 1 {
		return []string{fmt.Sprintf("%s has %d variants, want one", file, len(s.Variants))}
	}
	v := &s.Variants[0]
	if len(story{}.changes(&start.Variants[0], v)) == 0 { // nothing was changed: the story is run all the same, which shows the harm
		hint, _, _ := strings.Cut(string(text), "\n")
		changed := "only what is expected was changed, and the steps, the clients and the world are as they were"
		if reflect.DeepEqual(start.Variants[0].Expect, v.Expect) {
			changed = "nothing in the story was changed yet"
		}
		missing = []string{fmt.Sprintf("%s: %s. %s", file, changed, strings.TrimPrefix(hint, "# "))}
	} else {
		missing = append(e.changes(&start.Variants[0], v), e.unsaid(v)...)
	}
	events, err := lab.Run(ctx, s, v, lab.Options{Exe: o.Exe, Services: o.Services})
	if len(events) > 0 && ctx.Err() == nil {
		fail.If(o.Ran(events))
	}
	fail.If(err)
	judged := fail.Must(judge.Judge(events))
	if judged.Name != e.verdict {
		missing = append(missing, fmt.Sprintf("the verdict is %s, want %s", judged.Name, e.verdict))
	}
	if judged.Stale < e.stale {
		missing = append(missing, fmt.Sprintf("%d requests were refused as stale, want %d or more", judged.Stale, e.stale))
	}
	for _, m := range judged.Mismatches {
		missing = append(missing, "what you expect is not what happened: "+m)
	}
	return missing
}

// changes says what was changed that must stay.
func (e story) changes(start, v *scenario.Variant) (wrong []string) {
	say := func(part parts, what string, same bool) {
		if e.may&part == 0 && !same {
			wrong = append(wrong, what+" must stay: put back what stood there")
		}
	}
	say(storage, "the storage", start.World.Storage == v.World.Storage)
	say(servers, "the lock service and its servers", start.World.Service == v.World.Service && reflect.DeepEqual(start.World.Settings, v.World.Settings))
	say(clients, "the clients and their settings", reflect.DeepEqual(start.Clients, v.Clients))
	told := texts(v)
	say(steps, "the steps", slices.Equal(texts(start), told))
	for _, list := range e.keep {
		rest, before := told, ""
		for _, step := range list {
			is := func(one string) bool { return one == step || strings.HasPrefix(one, step+" for ") } // a pause for a time
			i := slices.IndexFunc(rest, is)
			if i < 0 && slices.ContainsFunc(told, is) {
				wrong = append(wrong, fmt.Sprintf("the step %q must come after %q", step, before))
				break
			} else if i < 0 {
				wrong = append(wrong, fmt.Sprintf("the step %q must stay", step))
				break
			}
			rest, before = rest[i+1:], step
		}
	}
	return wrong
}

// unsaid says which expectations are not there, and which recipes must not be.
func (e story) unsaid(v *scenario.Variant) (missing []string) {
	if len(v.Expect.Final)+len(v.Expect.Missing) == 0 {
		missing = append(missing, "expect does not say the final value")
	}
	if e.counts && v.Expect.Stale == nil {
		missing = append(missing, "expect does not say how many requests are stale")
	}
	for name, c := range v.Clients {
		if why := e.not[c.Values["by"]]; why != "" {
			missing = append(missing, fmt.Sprintf("%s has by: %s: %s", name, c.Values["by"], why))
		}
	}
	return missing
}

func texts(v *scenario.Variant) (list []string) {
	for _, s := range v.Steps {
		list = append(list, s.Actor+": "+s.Text)
	}
	return list
}
