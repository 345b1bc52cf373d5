package clientcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// send asks in the background, over a connection of its own: one that is held up
// holds up nothing else.
func (a *agent) send(ctx context.Context, line string) error {
	verb, arg, _ := strings.Cut(line, " ")
	makers := map[string]func(string) ([]*request, error){
		history.OpWrite: a.writes, history.OpDelete: a.deletes, history.OpChange: a.changes,
	}
	switch {
	case verb == "finish" && arg == "":
		return a.sendFinish(ctx)
	case verb == "retry" && arg == "":
		r, err := a.takeUnknown()
		if err != nil {
			return err
		}
		return a.inBackground(ctx, r)
	case makers[verb] == nil || arg == "":
		return fmt.Errorf("send %s: want a write, delete or change as without send, or a retry", line)
	}
	rs, err := makers[verb](arg)
	if err != nil {
		return err
	}
	if _, ok := a.mayGoOn(ctx, rs[0]); !ok {
		return nil
	}
	return a.inBackground(ctx, rs...)
}

// sendFinish sends what was begun. What it learned of the lock meanwhile it reports
// once that is on its way.
func (a *agent) sendFinish(ctx context.Context) error {
	if !a.stands() {
		return errNotBegun
	}
	if err := a.inBackground(ctx, a.begun...); err != nil {
		return err
	}
	a.begun = nil
	a.goOn()
	return nil
}

func (a *agent) inBackground(ctx context.Context, rs ...*request) error {
	flags := a.sendFlags()
	storage, err := flags.Client()
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	first := a.start(rs[0])
	a.sends.Go(func() {
		defer storage.Close()
		outcome := first(ctx, storage)
		for _, r := range rs[1:] {
			if outcome.Kind != history.KindOK {
				return
			}
			outcome = a.start(r)(ctx, storage)
		}
	})
	return nil
}

func (a *agent) retry(ctx context.Context, _ string) error {
	r, err := a.takeUnknown()
	if err == nil {
		a.perform(ctx, r)
	}
	return err
}

// takeUnknown is the last request whose outcome is not known. It is not another
// time, unless its outcome stays unknown.
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
