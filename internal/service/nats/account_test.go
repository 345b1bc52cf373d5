package nats

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
)

// hearing is a run that notes what it is told.
type hearing struct {
	service.Stage
	told []string
}

func (h *hearing) Plan() service.Plan { return service.Plan{Locks: []string{"/lock", "/other"}} }

func (h *hearing) Tell(events ...history.Event) {
	for _, e := range events {
		h.told = append(h.told, strings.TrimSpace(fmt.Sprint(e.At.Nanoseconds(), " ", e.Kind, " ", e.Scope, " ", e.Tenure, " ", e.Token, " ", e.Cause, " ", e.Text)))
	}
}

// tells hands over lines, which must be taken, and returns what is told then.
func tells(t *testing.T, lines ...string) []string {
	t.Helper()
	h := new(hearing)
	a := newAccount(h, new(bytes.Buffer))
	for _, line := range lines {
		if err := a.line([]byte(line + "\n")); err != nil {
			t.Error(err)
		}
	}
	return h.told
}

// TestAccount: a tenure begins when its name is written, also in the place of another one, goes on when it is written again,
// and ends with its key.
func TestAccount(t *testing.T) {
	for name, c := range map[string]struct{ lines, want []string }{
		"released": {[]string{"put 10 1 /lock a", "put 11 2 /lock a", "delete 12 3 /lock", "delete 13 4 /lock"},
			[]string{"10 granted /lock a 1", "12 ended /lock a 0 revoked its key was deleted"}},
		"expired":     {[]string{"put 10 1 /lock a", "expire 11 2 /lock"}, []string{"10 granted /lock a 1", "11 ended /lock a 0"}},
		"overwritten": {[]string{"put 10 1 /lock a", "put 11 2 /lock b"}, []string{"10 granted /lock a 1", "11 ended /lock a 0 revoked its key was overwritten", "11 granted /lock b 2"}},
		"forgotten": {[]string{"put 10 1 /lock a", "put 11 2 /other b", "delete 12 3 /other", "forget 13", "put 14 1 /lock b"},
			[]string{"10 granted /lock a 1", "11 granted /other b 2", "12 ended /other b 0 revoked its key was deleted", "13 ended /lock a 0 revoked the bucket is gone with all that it had", "14 granted /lock b 1"}},
	} {
		if got := tells(t, c.lines...); !slices.Equal(got, c.want) {
			t.Errorf("%s: told\n%q, want\n%q", name, got, c.want)
		}
	}
}

// TestAccountRefuses: lines that say nothing, and locks that are none of the run's.
func TestAccountRefuses(t *testing.T) {
	for _, line := range []string{"", "put 10 1 /lock", "put 10 1 /theirs a", "expire 11", "forget", "grant 10 1 /lock a"} {
		a := newAccount(new(hearing), new(bytes.Buffer))
		if err := a.line([]byte(line + "\n")); err == nil || !strings.Contains(err.Error(), "want one of put, delete, expire, forget, there") {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// TestAwait: it asks, and is over with the answer to its own question.
func TestAwait(t *testing.T) {
	asks := new(bytes.Buffer)
	a := newAccount(new(hearing), asks)
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := a.await(soon); err == nil || asks.String() != "1\n" {
		t.Errorf("it has asked %q, and nobody has answered: %v", asks, err)
	}
	done := make(chan error)
	go func() { done <- a.await(t.Context()) }()
	for answered := false; !answered; { // the second question may not be asked yet
		a.mu.Lock()
		answered = a.answers[2] != nil
		a.mu.Unlock()
	}
	if err := a.line([]byte("there 2\n")); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := a.line([]byte("there 3\n")); err == nil {
		t.Error("it takes the answer to a question that it has not asked")
	}
}
