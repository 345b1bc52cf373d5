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

	"github.com/fencelab/fencelab/internal/outside/laws"
)

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
