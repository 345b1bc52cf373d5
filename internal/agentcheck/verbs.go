package agentcheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
)

func deleteIsSent(ctx context.Context, t *trial) error {
	c, lock, err := t.holder(ctx)
	if err != nil {
		return err
	}
	if _, err := c.ok(ctx, "write key2=1"); err != nil {
		return err
	}
	del, err := c.ok(ctx, "delete key2")
	if err != nil {
		return err
	}
	did, err := t.stored(ctx, del.asked)
	if err != nil {
		return err
	}
	want := kv.Line{Op: history.OpDelete, Key: "key2", Scope: t.lock, Token: lock.outcome.Token}
	if got := (kv.Line{Op: did.Op, Key: did.Key, Scope: did.Scope, Token: did.Token}); got != want {
		return fmt.Errorf("the storage was asked for %s, want %s", inWords(got), inWords(want))
	}
	read, err := c.ok(ctx, "read key2")
	if err == nil && !read.outcome.Missing {
		err = errors.New("it has deleted the key, and its read does not say that it is missing")
	}
	return err
}

func changeIsSent(ctx context.Context, t *trial) error {
	c, lock, err := t.holder(ctx)
	if err != nil {
		return err
	}
	want := map[string]string{"key3": "1", "key4": "2"}
	change, err := c.ok(ctx, "change key3=1 key4=2")
	if err != nil {
		return err
	}
	if n := len(change.asked.Changes); n != len(want) {
		return fmt.Errorf("the invoke of its change names %d changes, want %d", n, len(want))
	}
	if change.asked.Op == history.OpWrite { // by --change singly
		if _, err := c.outcome(ctx, "change"); err != nil {
			return err
		}
	}
	did, err := t.stored(ctx, change.asked)
	switch {
	case err != nil:
		return err
	case did.Scope != t.lock || did.Token != lock.outcome.Token:
		return fmt.Errorf("the storage was asked in the scope %q with the token %d, want %q and %d", did.Scope, did.Token, t.lock, lock.outcome.Token)
	}
	for key, value := range want {
		read, err := c.ok(ctx, "read "+key)
		if err != nil {
			return err
		}
		if read.outcome.Value != value {
			return fmt.Errorf("after its change %s has %q, want %q", key, read.outcome.Value, value)
		}
	}
	return nil
}

// sendIsInBackground has the storage stand still while the client sends.
func sendIsInBackground(ctx context.Context, t *trial) error {
	c, _, err := t.holder(ctx)
	if err != nil {
		return err
	}
	var sent answer
	err = t.scene.StorageStill(func() (err error) {
		if sent, err = c.sends(ctx, "send write key5=sent"); err != nil {
			return err
		}
		_, err = c.do(ctx, "lock")
		return err
	})
	if err != nil {
		return err
	}
	if sent.outcome, err = c.next(ctx); err != nil {
		return fmt.Errorf("waiting for the outcome of what it sent: %w", err)
	}
	if err := sent.check("send"); err != nil {
		return err
	}
	if sent.outcome.Kind != history.KindOK {
		return fmt.Errorf("the storage has answered, and what it sent ends as %q, want ok", sent.outcome.Kind)
	}
	_, err = t.stored(ctx, sent.asked)
	return err
}

// retryAsksAgain has the storage stand still until the client does not wait any more.
func retryAsksAgain(ctx context.Context, t *trial) error {
	c, _, err := t.holder(ctx)
	if err != nil {
		return err
	}
	var first answer
	err = t.scene.StorageStill(func() (err error) {
		first, err = c.do(ctx, "write key6=again")
		return err
	})
	switch {
	case err != nil:
		return err
	case first.outcome.Kind != history.KindUnknown:
		return fmt.Errorf("the storage did not answer, and its write ends as %q, want unknown", first.outcome.Kind)
	}
	again, err := c.ok(ctx, "retry")
	if err != nil {
		return err
	}
	switch a := again.asked; {
	case a.RetryOf != first.asked.Request:
		return fmt.Errorf("the retry_of of its retry is %q, want the first request, %q", a.RetryOf, first.asked.Request)
	case a.Request == first.asked.Request:
		return fmt.Errorf("its retry has the request %q of the first attempt, want one of its own", a.Request)
	case a.Key != first.asked.Key || a.Value != first.asked.Value || a.Token != first.asked.Token:
		return fmt.Errorf("its retry writes %s=%s with the token %q, want %s=%s with %q", a.Key, a.Value, text(a), first.asked.Key, first.asked.Value, text(first.asked))
	}
	_, err = t.stored(ctx, again.asked)
	return err
}

func countAdds(ctx context.Context, t *trial) error {
	c, err := t.start(ctx, 0)
	if err != nil {
		return err
	}
	const command = "count key7 3"
	if err := c.tell(command); err != nil {
		return err
	}
	tenures := make(map[string]bool)
	for over := false; !over; {
		e, err := c.next(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("after %q: %w", command, err)
		case e.Kind == history.KindError:
			return &unableError{command, e.Text}
		case e.Kind == history.KindOK && e.Op == history.OpLock:
			tenures[e.Tenure] = true
		case e.Kind != history.KindInvoke && e.Kind != history.KindNote && e.Op == history.OpCount:
			if over = true; e.Kind != history.KindOK {
				return fmt.Errorf("%q: the outcome is %q (%s), want ok", command, e.Kind, e.Text)
			}
		}
	}
	read, err := c.ok(ctx, "read key7")
	switch {
	case err != nil:
		return err
	case read.outcome.Value != "3":
		return fmt.Errorf("it has counted to 3, and the key has %q", read.outcome.Value)
	case len(tenures) < 3:
		return fmt.Errorf("it has added 3 times under %d tenures, want a lock for each", len(tenures))
	}
	return nil
}
