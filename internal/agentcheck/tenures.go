package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scene"
	"github.com/fencelab/fencelab/internal/setting"
)

// holder starts the client and has it take the lock.
func (t *trial) holder(ctx context.Context) (*client, answer, error) {
	c, err := t.start(ctx, 0)
	if err != nil {
		return nil, answer{}, err
	}
	a, err := c.ok(ctx, "lock")
	if err == nil && a.outcome.Tenure == "" {
		err = errors.New("the ok of its lock names no tenure")
	}
	return c, a, err
}

// granted is the grant of which a client was told, by the lock service's account.
func (t *trial) granted(ctx context.Context, told history.Event) (e history.Event, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, fmt.Errorf("the lock service's account has none after %v", t.Patience))
	defer cancel()
	err = t.scene.Await(ctx, fmt.Sprintf("the grant of the tenure %q that it names", told.Tenure), func(a *scene.Account) (has bool) {
		e, has = a.Granted(t.lock, told.Tenure)
		return has
	})
	return e, err
}

// ended awaits the end of a tenure.
func (t *trial) ended(ctx context.Context, tenure string) error {
	within := t.Patience + t.check.ttl
	if t.check.ttl == long {
		within = t.Patience // its end has another reason
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("by the lock service's account it goes on after %v", within))
	defer cancel()
	return t.scene.Await(ctx, fmt.Sprintf("the end of its tenure %q", tenure), func(a *scene.Account) bool {
		_, ended := a.Ended(t.lock, tenure)
		return ended
	})
}

func tenureIsTheServices(ctx context.Context, t *trial) error {
	_, lock, err := t.holder(ctx)
	if err != nil {
		return err
	}
	grant, err := t.granted(ctx, lock.outcome)
	if err == nil && t.tokens && lock.outcome.Token != grant.Token {
		err = fmt.Errorf("its token is %q, and %q by the lock service's account", text(lock.outcome), text(grant))
	}
	return err
}

func heldIsHeld(ctx context.Context, t *trial) error {
	c, first, err := t.holder(ctx)
	if err != nil {
		return err
	}
	second, err := c.do(ctx, "lock")
	switch o := second.outcome; {
	case err != nil:
		return err
	case o.Kind == history.KindFail && o.Reason == "held":
		return nil
	case o.Kind == history.KindOK && o.Tenure == first.outcome.Tenure:
		return nil
	default:
		return fmt.Errorf("it holds %s, and its second lock ends as %q, with the reason %q and the tenure %q: want fail with the reason held, or ok with the tenure %q",
			t.lock, o.Kind, o.Reason, o.Tenure, first.outcome.Tenure)
	}
}

func unlockFrees(ctx context.Context, t *trial) error {
	c, lock, err := t.holder(ctx)
	if err != nil {
		return err
	}
	unlock, err := c.ok(ctx, "unlock")
	switch {
	case err != nil:
		return err
	case unlock.asked.Tenure != lock.outcome.Tenure:
		return fmt.Errorf("it unlocks the tenure %q, and holds %q", unlock.asked.Tenure, lock.outcome.Tenure)
	}
	if err := t.ended(ctx, lock.outcome.Tenure); err != nil {
		return err
	}
	write, err := c.do(ctx, "write key0=after")
	if err == nil && write.asked.Token != 0 {
		err = fmt.Errorf("it has unlocked the lock, and its write shows the token %d", write.asked.Token)
	}
	return err
}

func waitEnds(ctx context.Context, t *trial) error {
	other, err := t.other(ctx)
	if err != nil {
		return err
	}
	if _, err := other.ok(ctx, "lock"); err != nil {
		return err
	}
	c, err := t.start(ctx, 0)
	if err != nil {
		return err
	}
	wait, err := c.do(ctx, "lock within 300ms")
	waited := wait.outcome.At - wait.asked.At
	switch {
	case err != nil:
		return err
	case wait.outcome.Kind != history.KindFail:
		return fmt.Errorf("another client holds the lock, and its wait ends as %q, want fail", wait.outcome.Kind)
	case waited >= t.Settings.Time(setting.Timeout):
		return fmt.Errorf("it was to wait for 300ms, and waited for %v", waited)
	}
	if _, err := other.ok(ctx, "unlock"); err != nil {
		return err
	}
	// Nobody is before the next one, unless the client waits still.
	if _, err := other.ok(ctx, "lock within 2s"); err != nil {
		return fmt.Errorf("it waits no more, and another client does not get the lock that is free: %w", err)
	}
	return nil
}

// ends has the client end while it holds the lock.
func (t *trial) ends(ctx context.Context, how func(*client) error) error {
	c, lock, err := t.holder(ctx)
	if err != nil {
		return err
	}
	if err := how(c); err != nil {
		return err
	}
	within := time.After(t.Patience)
	for over := false; !over; {
		select {
		case l := <-c.lines:
			if over = l.err != nil; !over {
				c.note("<", l.text)
			}
		case <-within:
			return fmt.Errorf("it goes on after %v", t.Patience)
		}
	}
	soon, cancel := context.WithTimeoutCause(ctx, t.Patience, os.ErrDeadlineExceeded)
	defer cancel()
	if err := c.process.AwaitEnd(soon); err != nil {
		return fmt.Errorf("it does not end with status 0: %w", err)
	}
	return t.ended(ctx, lock.outcome.Tenure)
}

// taken has another client hold the lock while do asks for it.
func (t *trial) taken(ctx context.Context, do func(c *client) error) (c, other *client, err error) {
	if other, err = t.other(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := other.ok(ctx, "lock"); err != nil {
		return nil, nil, err
	}
	if c, err = t.start(ctx, 0); err != nil {
		return nil, nil, err
	}
	return c, other, do(c)
}

func tryTakesIfFree(ctx context.Context, t *trial) error {
	c, other, err := t.taken(ctx, func(c *client) error {
		try, err := c.do(ctx, "trylock")
		if err == nil && try.outcome.Kind != history.KindFail {
			err = fmt.Errorf("another client holds the lock, and its trylock ends as %q, want fail", try.outcome.Kind)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := other.ok(ctx, "unlock"); err != nil {
		return err
	}
	try, err := c.ok(ctx, "trylock")
	switch {
	case err != nil:
		return err
	case try.asked.Op != history.OpTryLock:
		return fmt.Errorf("the op of its trylock is %q, want %q", try.asked.Op, history.OpTryLock)
	}
	_, err = t.granted(ctx, try.outcome)
	return err
}

func queueWaits(ctx context.Context, t *trial) error {
	c, other, err := t.taken(ctx, func(c *client) error {
		if err := c.tell("queue"); err != nil {
			return err
		}
		wait, err := c.do(ctx, "wait within 300ms")
		switch {
		case err != nil:
			return err
		case wait.asked.Op != history.OpLock || wait.outcome.Kind != history.KindFail:
			return fmt.Errorf("another client holds the lock, and what it queued for, of op %q, ends as %q: want the op lock, and fail", wait.asked.Op, wait.outcome.Kind)
		case wait.outcome.At-wait.asked.At >= t.Settings.Time(setting.Timeout):
			return fmt.Errorf("it was to wait for 300ms, and waited for %v", wait.outcome.At-wait.asked.At)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.tell("queue"); err != nil {
		return err
	}
	if _, err := other.ok(ctx, "unlock"); err != nil {
		return err
	}
	wait, err := c.ok(ctx, "wait")
	if err != nil {
		return err
	}
	_, err = t.granted(ctx, wait.outcome)
	return err
}
