package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// now makes the run of a verb that asks for something.
func (a *agent) now(verb string) func(context.Context, string) error {
	return func(ctx context.Context, arg string) error {
		return a.act(ctx, verb, arg, func(ctx context.Context, rs ...*request) error {
			a.perform(ctx, rs...)
			return nil
		})
	}
}

var errNotBegun = errors.New("finish: nothing was begun")

// act does what was begun, a retry, or, if a look at the lock allows it, something new.
func (a *agent) act(ctx context.Context, verb, arg string, do func(context.Context, ...*request) error) error {
	switch verb {
	case "finish":
		if !a.stands() {
			return errNotBegun
		}
		if a.half != nil {
			a.finishLock(ctx)
			return nil
		}
		if err := do(ctx, a.begun...); err != nil {
			return err
		}
		a.begun = nil
		a.goOn() // what it learned of the lock meanwhile it reports now
		return nil
	case "retry":
		r, err := a.takeUnknown()
		if err != nil {
			return err
		}
		return do(ctx, r)
	}
	rs, err := a.beginning(verb, arg)
	if err != nil {
		return err
	}
	if _, ok := a.mayGoOn(ctx, rs[0]); !ok {
		return nil
	}
	return do(ctx, rs...)
}

// takeUnknown takes the last request of unknown outcome. It can be taken again if that stays unknown.
func (a *agent) takeUnknown() (*request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.unknown
	if r == nil {
		return nil, errors.New("retry: there is no request of unknown outcome")
	}
	a.unknown = nil
	return r, nil
}

// requests are those of a write, delete or change.
func (a *agent) requests(op, arg string) ([]*request, error) {
	arg, lock := a.under(arg)
	changes, err := parseChanges(op, arg)
	if err != nil {
		return nil, err
	}
	first := changes[0]
	switch {
	case op != history.OpChange:
		return []*request{a.newRequest(op, lock, first.Key, first.Value)}, nil
	case a.Settings.Text(setting.Change) == setting.ChangeBatch: // where the scope is a key it is the first
		r := a.newRequest(op, lock, first.Key, "")
		r.ask.Key, r.ask.Changes = "", changes
		return []*request{r}, nil
	}
	var rs []*request
	whole := new(string)
	for _, c := range changes {
		r := a.newRequest(history.OpWrite, lock, c.Key, c.Value)
		r.whole, r.ask.Changes = whole, changes
		rs = append(rs, r)
	}
	return rs, nil
}

// parseChanges reads what a write, delete or change is of; one at the least.
func parseChanges(op, arg string) ([]history.Change, error) {
	if op == history.OpDelete {
		return []history.Change{{Key: arg}}, checkKey(op, arg)
	}
	fields := []string{arg}
	if op == history.OpChange && strings.TrimSpace(arg) != "" {
		fields = strings.Fields(arg)
	}
	var changes []history.Change
	for _, field := range fields {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			return nil, fmt.Errorf("%s %s: want KEY=VALUE", op, field)
		}
		if err := checkKey(op, key); err != nil {
			return nil, err
		}
		changes = append(changes, history.Change{Key: key, Value: value})
	}
	return changes, nil
}

// begin looks whether the lock is held, and stands between the look and the last request: pauses harm there.
func (a *agent) begin(ctx context.Context, arg string) error {
	op, rest, _ := strings.Cut(arg, " ")
	if op == history.OpLock {
		return a.beginLock(ctx, rest)
	}
	rs, err := a.beginning(op, rest)
	if err != nil {
		return err
	}
	if op == history.OpUnlock && rs[0].held == nil {
		a.release(ctx, rs[0].lock) // which fails
		return nil
	}
	said, _, ok := a.looks(ctx, a.way(op, setting.LookSession), rs[0])
	if !ok {
		return nil
	}
	last := len(rs) - 1
	if last > 0 && a.perform(ctx, rs[:last]...).Kind != history.KindOK {
		return nil
	}
	a.begun = rs[last:]
	e := a.about(rs[last].lock)
	e.Op, e.Key = rs[last].ask.Op, rs[last].ask.Key
	e.Text = fmt.Sprintf("%s %s, and is about to %s", a.Name, said, describe(rs[last].ask))
	a.stand(e)
	return nil
}

// beginning are the requests of what can be begun, or be done at once.
func (a *agent) beginning(op, arg string) ([]*request, error) {
	switch op {
	case history.OpWrite, history.OpDelete, history.OpChange:
		return a.requests(op, arg)
	case history.OpRead:
		key, lock := a.under(arg)
		return []*request{a.newRequest(op, lock, key, "")}, checkKey(op, key)
	case history.OpUnlock:
		lock, err := oneLock("begin "+op, arg)
		r := a.unlocking(cmp.Or(lock, a.last()))
		if err == nil && r.held != nil && r.held.outer != nil {
			err = fmt.Errorf("begin unlock %s: it was taken again, want an unlock without begin, after which it is still held", r.lock)
		}
		return []*request{r}, err
	}
	return nil, fmt.Errorf("begin %s %s: want a lock, read, write, delete, change or unlock as without begin", op, arg)
}

func describe(ask history.Event) string {
	switch ask.Op {
	case history.OpWrite:
		return fmt.Sprintf("%s %s=%s", ask.Op, ask.Key, ask.Value)
	case history.OpChange:
		text := ask.Op
		for _, c := range ask.Changes {
			text += " " + c.Key + "=" + c.Value
		}
		return text
	case history.OpLock, history.OpTryLock, history.OpUnlock:
		return ask.Op + " " + ask.Scope
	}
	return ask.Op + " " + ask.Key
}

// send asks in the background, over a connection of its own: one that is held up holds up nothing else.
func (a *agent) send(ctx context.Context, line string) error {
	verb, arg, _ := strings.Cut(line, " ")
	alone := slices.Contains([]string{"finish", "retry"}, verb) && arg == ""
	if !alone && !slices.Contains([]string{history.OpWrite, history.OpDelete, history.OpChange}, verb) {
		return fmt.Errorf("send %s: want a write, delete, change, finish or retry as without send", line)
	}
	if err := a.act(ctx, verb, arg, a.inBackground); err != nil {
		return fmt.Errorf("send %w", err)
	}
	return nil
}

func (a *agent) inBackground(ctx context.Context, rs ...*request) error {
	if a.Sender == nil {
		return errors.New("the data lies in the lock service: there is no storage to send to")
	}
	storage, err := a.Sender()
	if err != nil {
		return err
	}
	first := a.start(ctx, rs[0])
	a.sends.Go(func() {
		defer storage.Close()
		data := overHTTP{storage}
		outcome := first(ctx, data)
		for _, r := range rs[1:] {
			if outcome.Kind != history.KindOK {
				return
			}
			outcome = a.start(ctx, r)(ctx, data)
		}
	})
	return nil
}

// way is how the agent looks before an op; begin is what setting.LookBegin, or no setting, means here.
func (a *agent) way(op, begin string) string {
	if op == history.OpRead || op == history.OpUnlock {
		return setting.LookNothing
	}
	if how := a.Settings[setting.Look]; how != "" && how != setting.LookBegin {
		return how
	}
	return begin
}

// mayGoOn looks before r, as --look has it, and reports what it saw: whether to go on, or else why not.
func (a *agent) mayGoOn(ctx context.Context, r *request) (refused history.Event, ok bool) {
	how := a.way(r.ask.Op, setting.LookNothing)
	said, refused, ok := a.looks(ctx, how, r)
	if ok && how != setting.LookNothing && how != setting.LookSession {
		a.note(r.lock, "", a.Name+" "+said)
	}
	return refused, ok
}

// looks looks before r, and says what it saw. Without a lock of its own it reports that r was not sent.
func (a *agent) looks(ctx context.Context, how string, r *request) (said string, refused history.Event, ok bool) {
	said, err := a.see(ctx, how, r.lock)
	if err == nil {
		return said, refused, true
	}
	if h := a.find(r.lock); h != nil && h.waits() && h.Grant().Token == 0 {
		r.ask.Tenure = "" // a place without a number, of which the lock service need not tell
	}
	refused = a.invoke(r.ask)
	if errors.As(err, new(service.NotHeld)) {
		refused.Reason = history.ReasonLost
	}
	return "", a.conclude(refused, fence.Definite.Wrap(err)), false
}

// see looks whether a lock is held; the error is as that of Tenure.Look. A client that waits for the lock knows that it
// was not granted, and believes the lock service alone if that says otherwise.
func (a *agent) see(ctx context.Context, how, lock string) (said string, err error) {
	h := a.find(lock)
	asks := how != setting.LookNothing && how != setting.LookSession
	switch {
	case h != nil && h.waits() && !asks:
		return "", service.NotHeld("it waits for " + lock + " in the queue")
	case how == setting.LookNothing:
		return "does not look whether it holds " + lock, nil
	case h == nil:
		return "", service.NotHeld("it holds no lock")
	case asks:
		ctx, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		return h.Look(ctx, how)
	case h.lost():
		return "", service.NotHeld("its session has ended")
	}
	return "has checked it holds " + lock, nil
}
