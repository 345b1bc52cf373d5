package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/lock"
)

// operate reports that ask is sent and what became of it. do adds to the
// outcome what it learned.
func (a *agent) operate(ask history.Event, do func(outcome *history.Event) error) {
	ask.Kind = history.KindInvoke
	a.report(ask)
	defer a.forget()
	outcome := ask
	err := do(&outcome)
	switch unknown := new(lock.UnknownError); {
	case err == nil:
		outcome.Kind = history.KindOK
	case errors.Is(err, kv.ErrUnknown), errors.As(err, &unknown):
		outcome.Kind = history.KindUnknown
	default:
		outcome.Kind = history.KindFail
	}
	if err != nil {
		outcome.Text = err.Error()
		if reason := fencehttp.ReasonOf(err); reason != "" {
			outcome.Reason, outcome.Text = string(reason), withoutURL(err).Error()
		}
		if stale := new(fence.StaleError); errors.As(err, &stale) {
			outcome.Mark = stale.Mark
		}
	}
	a.report(outcome)
}

// withoutURL is what the storage said, without the client's words around it.
func withoutURL(err error) error {
	if around := new(url.Error); errors.As(err, &around) {
		return around.Err
	}
	return err
}

func (a *agent) lock(ctx context.Context) { a.take(ctx, history.OpLock, a.locks.Lock) }

func (a *agent) tryLock(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	a.take(ctx, history.OpTryLock, a.locks.TryLock)
}

func (a *agent) take(ctx context.Context, op string, take func(context.Context, string) (lock.Tenure, error)) {
	var granted *held
	a.operate(history.Event{Op: op, Scope: a.config.lock}, func(outcome *history.Event) error {
		if a.held != nil && !a.held.lost() {
			outcome.Reason = "held" // it asked nobody
			return fmt.Errorf("already holds %s with token %d", a.config.lock, a.grant().Token)
		}
		t, err := take(ctx, a.config.lock)
		if err != nil {
			return err
		}
		granted = &held{Tenure: t}
		a.held = granted
		outcome.Tenure, outcome.Token = t.Grant().Owner, t.Grant().Token
		return nil
	})
	if granted != nil { // and reported: the loss comes after the grant
		a.watchers.Go(func() { a.watch(granted) })
	}
}

// watch reports the loss of a tenure.
func (a *agent) watch(h *held) {
	<-h.Done()
	if h.released.Load() {
		return
	}
	e := a.about(h.Grant())
	e.Kind, e.Text = history.KindLost, fmt.Sprintf("lost %s, which it held with token %d", e.Scope, e.Token)
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.begun != nil {
		a.news.Wait()
	}
	a.print(e)
}

func (a *agent) unlock(ctx context.Context) {
	ask := a.about(a.grant())
	ask.Op = history.OpUnlock
	a.operate(ask, func(*history.Event) error {
		if a.held == nil {
			return errors.New("holds nothing")
		}
		h := a.held
		a.held = nil
		if !h.lost() { // else the loss is news, and watch reports it
			h.released.Store(true)
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return h.Unlock(ctx)
	})
}

func (a *agent) status(context.Context) {
	e := a.about(a.grant())
	e.Kind = history.KindNote
	switch {
	case a.held == nil:
		e.Text = "holds nothing"
	case a.held.lost():
		e.Text = fmt.Sprintf("lost %s, which it held with token %d", e.Scope, e.Token)
	default:
		e.Text = fmt.Sprintf("holds %s with token %d", e.Scope, e.Token)
	}
	a.report(e)
}

// grant is the last one. It is a value: what it says does not change when the
// lock is lost, and the agent goes on to use it. Without one there is only the
// lock's name.
func (a *agent) grant() lock.Grant {
	if a.held == nil {
		return lock.Grant{Scope: a.config.lock}
	}
	return a.held.Grant()
}

func (a *agent) about(g lock.Grant) history.Event {
	return history.Event{Scope: g.Scope, Tenure: g.Owner, Token: g.Token}
}

func (a *agent) read(ctx context.Context, key string) error {
	return a.request(ctx, history.OpRead, key, "", func(ctx context.Context, req kv.Request, outcome *history.Event) error {
		item, err := a.store.Read(ctx, req, key)
		if errors.Is(err, kv.ErrNotFound) {
			outcome.Missing = true
			return nil
		}
		outcome.Value = item.Value
		return err
	})
}

func (a *agent) write(ctx context.Context, arg string) error {
	key, value, ok := strings.Cut(arg, "=")
	if !ok {
		return fmt.Errorf("write %s: want %q", arg, "write KEY=VALUE")
	}
	return a.request(ctx, history.OpWrite, key, value, func(ctx context.Context, req kv.Request, _ *history.Event) error {
		_, err := a.store.Write(ctx, req, key, value)
		return err
	})
}

// begin looks whether the lock is held, as a careful client does, and stands
// between the look and the write: where a pause does its harm.
func (a *agent) begin(_ context.Context, arg string) error {
	key, value, ok := strings.Cut(strings.TrimPrefix(arg, "write "), "=")
	if !ok || !strings.HasPrefix(arg, "write ") {
		return fmt.Errorf("begin %s: want %q", arg, "begin write KEY=VALUE")
	}
	if err := checkKey(history.OpWrite, key); err != nil {
		return err
	}
	if a.held == nil || a.held.lost() {
		return errors.New("begin: it does not hold the lock")
	}
	e := a.about(a.grant())
	e.Kind = history.KindNote
	e.Text = fmt.Sprintf("%s has looked: it holds %s with token %d, and is about to write %s=%s", a.name, e.Scope, e.Token, key, value)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = &begun{key, value}
	a.print(e)
	return nil
}

func (a *agent) finish(ctx context.Context) error {
	a.mu.Lock()
	b := a.begun
	a.mu.Unlock()
	if b == nil {
		return errors.New("finish: no write was begun")
	}
	return a.write(ctx, b.key+"="+b.value)
}

func (a *agent) hasBegun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun != nil
}

// forget says that no write is begun any more.
func (a *agent) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = nil
	a.news.Broadcast()
}

func (a *agent) delete(ctx context.Context, key string) error {
	return a.request(ctx, history.OpDelete, key, "", func(ctx context.Context, req kv.Request, _ *history.Event) error {
		_, err := a.store.Delete(ctx, req, key)
		return err
	})
}

func checkKey(op, key string) error {
	if key == "" || strings.TrimSpace(key) != key {
		return fmt.Errorf("%s: the key is %q, want one that neither is empty nor begins or ends with a space", op, key)
	}
	return nil
}

// request is an operation on the storage. Without a grant it shows no token,
// and where that matters the storage refuses.
func (a *agent) request(ctx context.Context, op, key, value string, do func(context.Context, kv.Request, *history.Event) error) error {
	if err := checkKey(op, key); err != nil {
		return err
	}
	a.requests++
	req := kv.Request{Claim: a.grant().Claim(), ID: fmt.Sprintf("%s-%d", a.name, a.requests)}
	ask := a.about(a.grant())
	ask.Op, ask.Request, ask.Key, ask.Value = op, req.ID, key, value
	a.operate(ask, func(outcome *history.Event) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return do(ctx, req, outcome)
	})
	return nil
}
