package clientcmd

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/lock"
)

// reasonLost is that of what was not even sent, because the lock is not held.
const reasonLost = "lost"

// conclude reports what became of something: e as it was asked, and what was
// learned.
func (a *agent) conclude(e history.Event, err error) history.Event {
	e = outcome(e, err)
	a.report(e)
	return e
}

// outcome is what became of e.
func outcome(e history.Event, err error) history.Event {
	switch unknown := new(lock.UnknownError); {
	case err == nil:
		e.Kind = history.KindOK
	case errors.Is(err, kv.ErrUnknown), errors.As(err, &unknown):
		e.Kind = history.KindUnknown
	default:
		e.Kind = history.KindFail
	}
	if err != nil {
		e.Text = inWords(err)
		if reason := fencehttp.ReasonOf(err); reason != "" {
			e.Reason, e.Text = string(reason), withoutURL(err).Error()
		}
		if stale := new(fence.StaleError); errors.As(err, &stale) {
			e.Mark = stale.Mark
		}
	}
	return e
}

// inWords is an error as a reader of the story needs it, who knows what was asked.
func inWords(err error) string {
	switch {
	case errors.Is(err, lock.ErrLocked):
		return "another tenure has the lock"
	case errors.Is(err, lock.ErrLost):
		return "that tenure is over"
	case errors.As(err, new(*lock.UnknownError)) && errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, errNotGranted):
		return errNotGranted.Error()
	}
	return err.Error()
}

// withoutURL is what the storage said, without the client's words around it.
func withoutURL(err error) error {
	if around := new(url.Error); errors.As(err, &around) {
		return around.Err
	}
	return err
}

// invoke reports that e is asked, and returns it.
func (a *agent) invoke(e history.Event) history.Event {
	e.Kind = history.KindInvoke
	a.report(e)
	return e
}

// complain reports a command that was not obeyed.
func (a *agent) complain(err error) {
	if err != nil {
		a.report(history.Event{Kind: history.KindError, Text: err.Error()})
	}
}

func (a *agent) note(text string) { a.report(history.Event{Kind: history.KindNote, Text: text}) }

func (a *agent) report(e history.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.print(e)
}

// print writes an event as one line; the caller holds a.mu. At is now, unless it
// is known better.
func (a *agent) print(e history.Event) {
	if e.At == 0 {
		e.At = time.Duration(time.Now().UnixNano())
	}
	e.Lane, e.Client = a.name, a.name
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
