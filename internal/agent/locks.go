package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// held is a tenure, or a place in the queue that will be one.
type held struct {
	service.Tenure
	token    fence.Token   // what the agent shows
	released chan struct{} // closed when the agent lets go of it by itself
}

func (h *held) lost() bool { return isClosed(h.Done()) }

// about is an event about the last grant. The grant is a value: what it says
// does not change when the lock is lost, and the agent goes on to use it.
// Without one there is only the lock's name.
func (a *agent) about() history.Event {
	if a.held == nil {
		return history.Event{Scope: a.Scope}
	}
	return history.Event{Scope: a.Scope, Tenure: a.held.Name(), Token: a.held.token}
}

// taking makes the run of the verbs that take the lock.
func (a *agent) taking(op string) func(context.Context, string) error {
	return func(ctx context.Context, arg string) error {
		long, arg, err := a.within(arg)
		if err != nil {
			return fmt.Errorf("%s %w", op, err)
		}
		tenure, ok := strings.CutPrefix(arg, "in ")
		switch {
		case strings.TrimSpace(arg) != "" && (!ok || tenure == ""):
			return fmt.Errorf(`%s %s: want nothing more, or "in TENURE" with the name of a tenure`, op, arg)
		case op == history.OpLock && a.place != nil: // it has been asked for already
			a.awaitPlace(ctx, long)
			return nil
		}
		_ = a.take(ctx, op, tenure, long) // it is reported
		return nil
	}
}

// within takes "within TIME" from the beginning of an argument: for how long the agent
// waits for the lock, else --timeout.
func (a *agent) within(arg string) (long time.Duration, rest string, err error) {
	rest, ok := strings.CutPrefix(arg, "within ")
	if !ok {
		return a.timeout, arg, nil
	}
	text, rest, _ := strings.Cut(rest, " ")
	long, err = time.ParseDuration(text)
	if err != nil || long <= 0 {
		return 0, "", fmt.Errorf("within %s: want a time above 0, such as 500ms", text)
	}
	return long, rest, nil
}

// take asks for the lock, in a session of its own or that of a tenure, waits for it
// so long, and reports that, too.
func (a *agent) take(ctx context.Context, op, tenure string, long time.Duration) error {
	asked := a.invoke(history.Event{Op: op, Scope: a.Scope})
	if err := a.mayAsk(asked); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	take := a.Locks.Lock
	if op == history.OpTryLock {
		take = a.Locks.TryLock
	}
	t, err := take(asking, a.Scope, tenure)
	err = inTime(asking, err)
	a.granted(ctx, asked, t, err)
	return err
}

// errNotGranted is why nobody waits for a lock any more.
var errNotGranted = errors.New("not granted in time; it has left the queue")

// inTime is err, the end of a wait that ctx bounds. Where the client may stand in the
// queue still err says so.
func inTime(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || errors.As(err, new(*lock.UnknownError)) {
		return err
	}
	return fmt.Errorf("%w: %w", errNotGranted, err)
}

// mayAsk asks nobody for a lock that is held.
func (a *agent) mayAsk(asked history.Event) error {
	if a.held == nil || a.held.lost() {
		return nil
	}
	err := fmt.Errorf("already holds %s, or waits for it, with token %d", a.Scope, a.held.token)
	asked.Reason = "held"
	a.conclude(asked, err)
	return err
}

// granted waits out the delay and reports what became of asking for the lock.
func (a *agent) granted(ctx context.Context, outcome history.Event, t service.Tenure, err error) {
	if err != nil {
		if errors.Is(err, service.ErrRanOut) {
			outcome.Reason = history.CauseExpired
		}
		a.conclude(outcome, err)
		return
	}
	h, remark := a.hold(t)
	e := a.about()
	outcome.Tenure, outcome.Token = e.Tenure, e.Token
	e.Kind, e.Op = history.KindNote, history.OpLock
	if remark != "" {
		e.Text = remark
		a.report(e)
	}
	if delay := a.Settings.Time(setting.Delay); delay > 0 {
		e.Took, e.Text = delay, fmt.Sprintf("%s has %s, and waits for %g s before it goes on", a.Name, a.Scope, delay.Seconds())
		a.report(e)
		select {
		case <-time.After(delay):
		case <-ctx.Done(): // the agent ends, and releases the lock
		}
	}
	a.conclude(outcome, nil)
	a.watchers.Go(func() { a.watch(h) }) // after that: the loss comes after the grant
}

// hold makes t the last grant, or sees that it waits for t no more. remark is what is
// to be said about the token.
func (a *agent) hold(t service.Tenure) (h *held, remark string) {
	if a.held == nil || a.held.Tenure != t {
		a.held = &held{Tenure: t, released: make(chan struct{})}
		a.sequence = 0
	}
	a.held.token, remark = t.Shown()
	return a.held, remark
}

// watch reports the loss of a tenure.
func (a *agent) watch(h *held) {
	select {
	case <-h.released:
		return
	case <-h.Done():
	}
	e := history.Event{Kind: history.KindLost, Scope: a.Scope, Tenure: h.Name(), Token: h.token}
	e.Text = fmt.Sprintf("lost %s, which it held with token %d", e.Scope, e.Token)
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.standing {
		a.news.Wait()
	}
	if !isClosed(h.released) { // else it is no loss
		a.print(e)
	}
}

func (a *agent) unlock(ctx context.Context, _ string) error {
	a.release(ctx)
	return nil
}

func (a *agent) release(ctx context.Context) history.Event {
	r := a.unlocking()
	if r.held == nil {
		return a.conclude(a.invoke(r.ask), errors.New("holds nothing"))
	}
	return a.perform(ctx, r)
}

// unlocking is the request to release the last grant. It has no held where the agent
// holds nothing.
func (a *agent) unlocking() *request {
	r := &request{ask: a.about()}
	r.ask.Op = history.OpUnlock
	if a.place == nil {
		r.held = a.held
	}
	return r
}

// letGo forgets a tenure that the agent is about to release.
func (a *agent) letGo(h *held) {
	if a.held != h { // it is a retry
		return
	}
	a.held = nil
	if !h.lost() { // else the loss is news, and watch reports it
		close(h.released)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
