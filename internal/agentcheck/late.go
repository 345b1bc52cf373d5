package agentcheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
)

// paused stops the client right before a write until its lease has run out and another client
// has written, and lets it write.
func (t *trial) paused(ctx context.Context) (c *client, late answer, mark history.Event, err error) {
	other, err := t.other(ctx) // first: the lease is short, and a program may take long to start
	if err != nil {
		return c, late, mark, err
	}
	c, lock, err := t.holder(ctx)
	if err != nil {
		return c, late, mark, err
	}
	if _, err := c.begin(ctx, "write key0=late"); err != nil {
		return c, late, mark, err
	}
	if err := c.process.Pause(); err != nil {
		return c, late, mark, err
	}
	err = t.ended(ctx, lock.outcome.Tenure)
	var later answer
	if err == nil {
		later, err = other.ok(ctx, "lock")
	}
	if err == nil {
		_, err = other.ok(ctx, "write key0=new")
	}
	if err := errors.Join(err, c.process.Resume()); err != nil {
		return c, late, mark, err
	}
	late, err = c.do(ctx, "finish")
	if err == nil && text(late.asked) != text(lock.outcome) {
		err = fmt.Errorf("its write shows the token %q, and its grant has %q", text(late.asked), text(lock.outcome))
	}
	return c, late, later.outcome, err
}

func lateWriteIsSent(ctx context.Context, t *trial) error {
	_, late, mark, err := t.paused(ctx)
	if err != nil {
		return err
	}
	if _, err := t.stored(ctx, late.asked); err != nil {
		return err
	}
	o := late.outcome
	switch {
	case !t.tokens && o.Kind != history.KindOK:
		return fmt.Errorf("the storage checks nothing, and the late write ends as %q, want ok", o.Kind)
	case t.tokens && (o.Kind != history.KindFail || o.Reason != "stale" || o.Mark != mark.Token):
		return fmt.Errorf("the storage refused the late write as stale, with the mark %d, and it says %q with the reason %q and the mark %d",
			mark.Token, o.Kind, o.Reason, o.Mark)
	}
	return nil
}

func lossIsTold(ctx context.Context, t *trial) error {
	c, late, _, err := t.paused(ctx)
	if err != nil {
		return err
	}
	if len(c.lost) > 0 {
		return errors.New("it says lost before the outcome of what it had begun")
	}
	for {
		e, err := c.next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("waiting for lost: %w", err)
		case e.Kind == history.KindLost && e.Tenure != late.asked.Tenure:
			return fmt.Errorf("it lost the tenure %q, and says %q", late.asked.Tenure, e.Tenure)
		case e.Kind == history.KindLost:
			return nil
		}
	}
}
