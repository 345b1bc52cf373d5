package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/lock"
)

// conclude reports what became of something: e as it was asked, and what was learned.
func (a *agent) conclude(e history.Event, err error) history.Event {
	e = outcome(e, err)
	a.report(e)
	return e
}

func outcome(e history.Event, err error) history.Event {
	if err == nil {
		e.Kind = history.KindOK
		return e
	}
	if e.Text = inWords(err); isUnknown(err) {
		e.Kind = history.KindUnknown
		return e
	}
	e.Kind, e.Reason = history.KindFail, cmp.Or(string(fencehttp.ReasonOf(err)), e.Reason)
	if stale := new(fence.StaleError); errors.As(err, &stale) {
		e.Mark = stale.Mark
	}
	return e
}

// isUnknown reports whether what was asked may have been done, or may be done yet.
func isUnknown(err error) bool { return fence.OutcomeOf(err) < fence.Lost }

// inWords is an error as a reader of the story needs it, who knows what was asked.
func inWords(err error) string {
	around := new(url.Error)
	switch {
	case fencehttp.ReasonOf(err) != "" && errors.As(err, &around): // the storage's words
		return around.Err.Error()
	case errors.Is(err, service.ErrTooFew):
		return "too few of the nodes gave it the lock"
	case errors.Is(err, lock.ErrLocked):
		return "another tenure has the lock"
	case errors.Is(err, lock.ErrLost):
		return "that tenure is over"
	case isUnknown(err) && errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, service.ErrRanOut):
		return service.ErrRanOut.Error()
	case errors.Is(err, errNotGranted):
		return errNotGranted.Error()
	}
	return err.Error()
}

// invoke reports that e is asked, and returns it.
func (a *agent) invoke(e history.Event) history.Event {
	e.Kind = history.KindInvoke
	a.report(e)
	return e
}

// note reports a text about a lock's last grant, and returns the event.
func (a *agent) note(lock, op, text string) history.Event {
	e := a.about(lock)
	e.Kind, e.Op, e.Text = history.KindNote, op, text
	a.report(e)
	return e
}

func (a *agent) complain(err error) {
	if err != nil {
		a.report(history.Event{Kind: history.KindError, Text: err.Error()})
	}
}

func (a *agent) report(e history.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.print(e)
}

// print writes an event as one line; the caller holds a.mu. At is now, unless it is known better.
func (a *agent) print(e history.Event) {
	if e.At == 0 {
		e.At = time.Duration(time.Now().UnixNano())
	}
	e.Lane, e.Client = a.Name, a.Name
	fmt.Fprintln(a.Words, words(e))
	if a.err == nil {
		a.err = history.Write(a.out, []history.Event{e})
	}
}

// broken is why nobody can read the reports any more; nil while they can.
func (a *agent) broken() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// stand says that it stands before a write, and by e what before.
func (a *agent) stand(e history.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.standing = true
	e.Kind = history.KindNote
	a.print(e)
}

func (a *agent) stands() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.standing
}

// goOn says that it stands no more, and lets the news through.
func (a *agent) goOn() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.standing = false
	a.news.Broadcast()
}

// words say what an event tells, for people, in a line.
func words(e history.Event) string {
	said := e.Text
	switch e.Kind {
	case history.KindInvoke:
		said = "asks: " + asked(e)
	case history.KindOK:
		said = "done: " + asked(e) + found(e)
	case history.KindFail:
		said = "failed: " + asked(e) + ": " + e.Text
	case history.KindUnknown:
		said = "nobody knows whether it is done: " + asked(e) + ": " + e.Text
	case history.KindError:
		said = "nothing is done: " + e.Text
	case history.KindPause:
		said = "stopped (" + e.Cause + ")"
	case history.KindResume:
		said = fmt.Sprintf("goes on; it stood still for %v", e.Took.Round(time.Millisecond))
	}
	return strings.Map(printable, said)
}

// asked is what was asked, and the token that was shown, or granted.
func asked(e history.Event) string {
	if e.Token == 0 {
		return describe(e)
	}
	return fmt.Sprintf("%s (token %d)", describe(e), e.Token)
}

func found(e history.Event) string {
	switch {
	case e.Op != history.OpRead:
		return ""
	case e.Missing:
		return ": it has no value"
	}
	return ": " + e.Value
}

// printable keeps what is from elsewhere from moving the cursor.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}
