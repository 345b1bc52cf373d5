package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// held is a tenure, or a place in the queue that will be one.
type held struct {
	service.Tenure
	lock     string
	outer    *held         // the grant of the same tenure that it came after; nil: none
	token    fence.Token   // what the agent shows
	released chan struct{} // closed when the agent lets go of it by itself
	place    service.Place // that it waits in; nil: none, or the wait is over
	asked    history.Event // for the place

	told        bool            // its loss is reported
	transaction bool            // requests are part of its transaction, or were
	pending     []history.Event // what is told of them when that has ended
}

func (h *held) lost() bool { return service.IsClosed(h.Done()) }

func (h *held) waits() bool { return h.place != nil }

// find is the last grant of a lock, or a place in its queue; nil: none, or it was unlocked.
func (a *agent) find(lock string) *held {
	for _, h := range slices.Backward(a.held) {
		if h.lock == lock {
			return h
		}
	}
	return nil
}

// last is the lock of a command that names none, and takes none: that of the last grant, or place in a queue.
func (a *agent) last() string {
	if len(a.held) == 0 {
		return a.Scope
	}
	return a.held[len(a.held)-1].lock
}

// about is an event about a lock's last grant, without one about its name alone. The grant does not change
// when the lock is lost, and the agent goes on to use it.
func (a *agent) about(lock string) history.Event {
	e := history.Event{Scope: lock}
	if h := a.find(lock); h != nil {
		e.Tenure, e.Token = h.Name(), h.token
	}
	return e
}

// under takes "under NAME" from the end of an argument: the lock that a request is under, else the last.
func (a *agent) under(arg string) (rest, lock string) {
	const word = " under "
	i := strings.LastIndex(arg, word)
	if i < 0 || i+len(word) == len(arg) || strings.Contains(arg[i+len(word):], " ") {
		return arg, a.last()
	}
	return arg[:i], arg[i+len(word):]
}

// oneLock reads the name of a lock, which may be left out, behind a verb.
func oneLock(verb, arg string) (lock string, err error) {
	lock = strings.TrimSpace(arg)
	if strings.Contains(lock, " ") {
		return "", fmt.Errorf("%s %s: want nothing more than the name of a lock, which has no spaces", verb, lock)
	}
	return lock, nil
}

// lockFirst takes the name of a lock from the beginning of an argument; without one it is --lock.
func (a *agent) lockFirst(arg string) (lock, rest string) {
	lock, rest, _ = strings.Cut(arg, " ")
	if slices.Contains([]string{"", "within", "in"}, lock) {
		return a.Scope, arg
	}
	return lock, rest
}

// taking makes the run of the verbs that take a lock.
func (a *agent) taking(op string) func(context.Context, string) error {
	return func(ctx context.Context, arg string) error {
		lock, arg := a.lockFirst(arg)
		long, arg, err := a.within(arg)
		if err != nil {
			return fmt.Errorf("%s %w", op, err)
		}
		tenure, ok := strings.CutPrefix(arg, "in ")
		switch {
		case strings.TrimSpace(arg) != "" && (!ok || tenure == ""):
			return fmt.Errorf(`%s %s: want nothing more, or "in TENURE" with the name of a tenure`, op, arg)
		case ok:
			if err := a.limit("in"); err != nil {
				return err
			}
		}
		if h := a.find(lock); op == history.OpLock && h != nil && h.waits() { // it has been asked for already
			a.awaitPlace(ctx, h, long)
			return nil
		}
		_ = a.take(ctx, op, lock, tenure, long) // it is reported
		return nil
	}
}

func (a *agent) limit(command string) error {
	if l, limited := a.Locks.(Limited); limited && l.Limit(command) != nil {
		return fmt.Errorf("%s: %w", command, l.Limit(command))
	}
	return nil
}

// within takes "within TIME" from the beginning of an argument: how long to wait, else --timeout.
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

// take asks for a lock, in its own session or that of a tenure, waits for it so long, and reports all that.
func (a *agent) take(ctx context.Context, op, lock, tenure string, long time.Duration) error {
	asked := a.invoke(history.Event{Op: op, Scope: lock})
	take := func(ctx context.Context) (service.Tenure, error) { return a.Locks.Lock(ctx, lock, tenure) }
	if op == history.OpTryLock {
		take = func(ctx context.Context) (service.Tenure, error) { return a.Locks.TryLock(ctx, lock, tenure) }
	}
	if held := a.reentrant(lock); held != nil && op == history.OpLock {
		take = held.Again
	} else if err := a.mayAsk(asked); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	t, err := take(service.Unheld(asking, a.unlockUnheld))
	err = inTime(asking, err)
	a.granted(ctx, asked, t, err)
	return err
}

// errNotGranted is why nobody waits for a lock any more.
var errNotGranted = fence.Definite.New("not granted in time; it has left the queue")

// inTime is err, the end of a wait that ctx bounds. After an unknown outcome the client may still queue.
func inTime(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil || isUnknown(err) {
		return err
	}
	return fmt.Errorf("%w: %w", errNotGranted, err)
}

// unlockUnheld reports an unlock that is a part of asking for a lock. It is of no tenure, and answers no command.
func (a *agent) unlockUnheld(lock string, unlock func() error) error {
	asked := a.invoke(history.Event{Op: history.OpUnlock, Scope: lock})
	err := unlock()
	a.conclude(asked, err)
	return err
}

// reentrant is the tenure of a lock that the agent holds, and can take again; nil: there is none.
func (a *agent) reentrant(lock string) service.Reentrant {
	h := a.find(lock)
	if h == nil || h.lost() {
		return nil
	}
	held, _ := h.Tenure.(service.Reentrant)
	return held
}

// mayAsk asks nobody for a lock that is held.
func (a *agent) mayAsk(asked history.Event) error {
	h := a.find(asked.Scope)
	if h == nil || h.lost() {
		return nil
	}
	err := fence.Definite.New(fmt.Sprintf("already holds %s, or waits for it, with token %d", h.lock, h.token))
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
	h, remark := a.hold(outcome.Scope, t)
	e := a.about(h.lock)
	outcome.Tenure, outcome.Token = e.Tenure, e.Token
	e.Kind, e.Op = history.KindNote, history.OpLock
	if remark != "" {
		e.Text = remark
		a.report(e)
	}
	if delay := a.Settings.Time(setting.Delay); delay > 0 {
		e.Took, e.Text = delay, fmt.Sprintf("%s has %s, and waits for %g s before it goes on", a.Name, h.lock, delay.Seconds())
		a.report(e)
		select {
		case <-time.After(delay):
		case <-ctx.Done(): // the agent ends, and releases the lock
		}
	}
	a.conclude(outcome, nil)
	if h.outer == nil { // else its tenure is watched
		a.watchers.Go(func() { a.watch(h) }) // after that: the loss comes after the grant
	}
}

// hold makes t the last grant, unless it was a place in a queue. remark is what is to be said of the token.
func (a *agent) hold(lock string, t service.Tenure) (h *held, remark string) {
	h = a.find(lock)
	if h == nil || h.Tenure != t {
		h = &held{Tenure: t, lock: lock, outer: h, released: make(chan struct{})}
		if h.outer == nil || h.outer.lost() {
			a.begins(h)
		}
		a.held = append(a.held, h)
	}
	h.token, remark = t.Shown()
	return h, remark
}

// begins says that h is the first grant of a tenure: the grants of the lock's earlier tenure are forgotten.
func (a *agent) begins(h *held) {
	h.outer = nil
	a.held = slices.DeleteFunc(a.held, func(other *held) bool { return other.lock == h.lock })
	a.sequences[h.lock] = 0
}

func (a *agent) forget(h *held) {
	a.held = slices.DeleteFunc(a.held, func(other *held) bool { return other == h })
}

const lostText = "lost %s, which it held with token %d"

func (a *agent) watch(h *held) {
	select {
	case <-h.released:
		return
	case <-h.Done():
	}
	e := history.Event{Kind: history.KindLost, Scope: h.lock, Tenure: h.Name(), Token: h.token, Text: fmt.Sprintf(lostText, h.lock, h.token)}
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.standing {
		a.news.Wait()
	}
	if !service.IsClosed(h.released) { // else it is no loss
		a.print(e)
		h.told = true
		a.settle(h, history.KindFail)
	}
}

func (a *agent) unlock(ctx context.Context, arg string) error {
	lock, err := oneLock(history.OpUnlock, arg)
	if err == nil {
		a.release(ctx, cmp.Or(lock, a.last()))
	}
	return err
}

func (a *agent) release(ctx context.Context, lock string) history.Event {
	r := a.unlocking(lock)
	switch {
	case r.held == nil:
		return a.conclude(a.invoke(r.ask), fence.Definite.New("holds nothing"))
	case r.held.outer != nil:
		return a.leave(ctx, r)
	}
	return a.perform(ctx, r)
}

// leave unlocks a lock that was taken again: the tenure goes on, with the grant before.
func (a *agent) leave(ctx context.Context, r *request) history.Event {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	a.forget(r.held)
	if err := r.held.Unlock(ctx); err != nil {
		return a.conclude(a.invoke(r.ask), err)
	}
	return a.note(r.lock, "", fmt.Sprintf("%s unlocks %s once, and still holds it by its grant of token %d", a.Name, r.lock, a.about(r.lock).Token))
}

// unlocking is the request to release a lock. It has no held, and names no tenure, where the agent does not hold it.
func (a *agent) unlocking(lock string) *request {
	r := &request{lock: lock, ask: history.Event{Scope: lock}}
	if h := a.find(lock); h != nil && !h.waits() {
		r.held, r.ask = h, a.about(lock)
	}
	r.ask.Op = history.OpUnlock
	return r
}

func (a *agent) letGo(h *held) {
	if !slices.Contains(a.held, h) { // it is a retry
		return
	}
	a.forget(h)
	if !h.lost() { // else the loss is news, and watch reports it
		close(h.released)
	}
}
