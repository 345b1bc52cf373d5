package nats

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures, by what a process tells of the bucket: of each change of a key, in
// the order of the revisions. A tenure begins when its name is written to the key of the lock, and ends when something else
// is written, or nothing is there any more.
type account struct {
	told  service.Account
	locks []string
	asks  io.Writer // to the process

	mu      sync.Mutex
	holders map[string]string // lock → the tenure that has it
	asked   int
	answers map[int]chan struct{} // of await
}

func newAccount(stage service.Stage, asks io.Writer) *account {
	return &account{told: stage, locks: stage.Plan().Locks, asks: asks, holders: make(map[string]string), answers: make(map[int]chan struct{})}
}

// await returns when all is told that was done before.
func (a *account) await(ctx context.Context) error {
	a.mu.Lock()
	a.asked++
	n, answer := a.asked, make(chan struct{})
	a.answers[n] = answer
	a.mu.Unlock()
	if _, err := fmt.Fprintln(a.asks, n); err != nil {
		return fmt.Errorf("the account of NATS: %w", err)
	}
	select {
	case <-answer:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the account of NATS does not answer: %w", context.Cause(ctx))
	}
}

// What a line tells.
const (
	linePut    = "put"
	lineDelete = "delete"
	lineExpire = "expire"
	lineForget = "forget"
	lineThere  = "there"
)

// line takes in what the process tells.
func (a *account) line(text []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var (
		what, lock, tenure string
		number, revision   int64 // of a question, or the time since 1970
	)
	n, _ := fmt.Sscan(string(text), &what, &number, &revision, &lock, &tenure)
	switch {
	case what == lineThere && a.answers[int(number)] != nil:
		close(a.answers[int(number)])
		delete(a.answers, int(number))
	case what == lineForget && n == 2:
		for _, lock := range a.locks {
			a.end(lock, time.Duration(number), history.CauseRevoked, "the bucket is gone with all that it had")
		}
	case what == linePut && n == 5 && slices.Contains(a.locks, lock):
		a.put(lock, tenure, time.Duration(number), fence.Token(revision))
	case what == lineDelete && n == 4:
		a.end(lock, time.Duration(number), history.CauseRevoked, "its key was deleted")
	case what == lineExpire && n == 4:
		a.end(lock, time.Duration(number), "", "")
	default:
		return fmt.Errorf("want one of %s, with what it is about", strings.Join([]string{linePut, lineDelete, lineExpire, lineForget, lineThere}, ", "))
	}
	return nil
}

// put takes in that a key has the name of a tenure. Its holder writes the same to renew it.
func (a *account) put(lock, tenure string, at time.Duration, revision fence.Token) {
	if a.holders[lock] == tenure {
		return
	}
	a.end(lock, at, history.CauseRevoked, "its key was overwritten")
	a.holders[lock] = tenure
	a.told.Tell(history.Event{At: at, Lane: Name, Kind: history.KindGranted, Scope: lock, Tenure: tenure, Token: revision})
}

// end takes in the end of the tenure that has a lock, if one has.
func (a *account) end(lock string, at time.Duration, cause, text string) {
	tenure := a.holders[lock]
	if tenure == "" {
		return
	}
	delete(a.holders, lock)
	a.told.Tell(history.Event{At: at, Lane: Name, Kind: history.KindEnded, Scope: lock, Tenure: tenure, Cause: cause, Text: text})
}
