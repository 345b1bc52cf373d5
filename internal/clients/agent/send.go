package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// send asks in the background, over a connection of its own: one that is held up
// holds up nothing else.
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
