package learn

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	example "github.com/fencelab/fencelab/examples/storage"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/service"
)

// Options of Check.
type Options struct {
	Exe      string // a program that has the roles of packages lab and program
	Services []*service.Service
	// Judged is told of a story that was run.
	Judged func([]history.Event, judge.Judgement) error
	// Law is told of each law that was judged.
	Law func(laws.Report, laws.Result)
}

// Check says what is missing in a solution of the exercise; nothing where the exercise is
// solved. An error says why the solution cannot be checked.
func (l Lesson) Check(ctx context.Context, o Options) (missing []string, err error) {
	missing, err = l.kind.check(ctx, l, o)
	if err != nil {
		err = fmt.Errorf("%s cannot be checked: %w", l.Dir(), err)
	}
	return missing, err
}

type exercise interface {
	check(context.Context, Lesson, Options) (missing []string, err error)
}

var exercises = []exercise{
	story{verdict: history.Safe, may: steps, keep: [][]string{{ // client1's write comes first
		"client1: lock", "client1: begin write key0=from-client-1", "gcsim: pause client1", "gcsim: resume client1", "client1: finish",
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

func (e storageCommand) check(ctx context.Context, l Lesson, o Options) (missing []string, err error) {
	text, err := os.ReadFile(filepath.Join(l.Dir(), commandFile))
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(l.Dir())
	if err != nil {
		return nil, err
	}
	command := "env -C '" + strings.ReplaceAll(dir, "'", `'\''`) + "' " + strings.TrimSpace(string(text))
	only := e.holds
	if e.fails != "" {
		only = append(slices.Clone(only), e.fails)
	}
	report, err := laws.Judge(ctx, laws.Options{
		Commands: []string{command}, Exe: o.Exe, Timeout: lawTimeout, Idle: lawIdle, Scopes: lawScopes, Only: only, Tell: o.Law,
	})
	if err != nil {
		return nil, err
	}
	for _, r := range report.Results {
		want := cmp.Or(map[string]string{e.fails: laws.Fails}[r.Law], laws.Holds)
		if r.Outcome != want && (r.Outcome != laws.LeftOut || e.holds != nil) {
			missing = append(missing, fmt.Sprintf("%s: want %q, got %q", r.Law, want, r.Outcome))
		}
	}
	return missing, nil
}

// Bounds of the laws: for how long a request may take, and little of what shows marks that are
// dropped after a while, or where there are many. A learner waits for the judgement.
const (
	lawTimeout = 10 * time.Second
	lawIdle    = time.Second
	lawScopes  = 2000
)
