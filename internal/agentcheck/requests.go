package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/scene"
)

// stored is what the storage did of a request of a client's, by its account.
func (t *trial) stored(ctx context.Context, asked history.Event) (l kv.Line, err error) {
	if asked.Request == "" {
		return l, fmt.Errorf("the invoke of its %s has no request", asked.Op)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, fmt.Errorf("the storage's account has none after %v", t.Patience))
	defer cancel()
	err = t.scene.Await(ctx, fmt.Sprintf("a request with the X-Request-Id %q", asked.Request), func(a *scene.Account) bool {
		asked := a.Asked(asked.Request)
		if len(asked) > 0 {
			l = asked[0]
		}
		return len(asked) > 0
	})
	return l, err
}

func invokeComesFirst(ctx context.Context, t *trial) error {
	c, lock, err := t.holder(ctx)
	if err != nil {
		return err
	}
	grant, err := t.granted(ctx, lock.outcome)
	if err != nil {
		return err
	}
	if lock.asked.At > grant.At {
		return fmt.Errorf("the at of the invoke of its lock is %d, and the lock was granted before, at %d", lock.asked.At, grant.At)
	}
	write, err := c.ok(ctx, "write key0=1")
	if err != nil {
		return err
	}
	did, err := t.stored(ctx, write.asked)
	at := time.Duration(did.Time.UnixNano())
	switch {
	case err != nil:
		return err
	case write.asked.At > at:
		return fmt.Errorf("the at of the invoke of its write is %d, and the storage had it before, at %d", write.asked.At, at)
	}
	return nil
}

func requestIsSent(ctx context.Context, t *trial) error {
	c, lock, err := t.holder(ctx)
	if err != nil {
		return err
	}
	write, err := c.ok(ctx, "write key0=1")
	if err != nil {
		return err
	}
	did, err := t.stored(ctx, write.asked)
	if err != nil {
		return err
	}
	want := kv.Line{Op: history.OpWrite, Key: "key0", Value: "1", Scope: t.lock, Token: lock.outcome.Token}
	got := kv.Line{Op: did.Op, Key: did.Key, Value: did.Value, Scope: did.Scope, Token: did.Token}
	if got != want {
		return fmt.Errorf("the storage was asked for %s, want %s", inWords(got), inWords(want))
	}
	said := kv.Line{Op: write.asked.Op, Key: write.asked.Key, Value: write.asked.Value, Scope: write.asked.Scope, Token: write.asked.Token}
	if said != want {
		return fmt.Errorf("it says that it asks for %s, want %s", inWords(said), inWords(want))
	}
	return nil
}

func inWords(l kv.Line) string {
	return fmt.Sprintf("%s %s=%s in the scope %q with the token %d", l.Op, l.Key, l.Value, l.Scope, l.Token)
}

// requestsAreUnique: IDs of two requests, and of two by a process that takes the place of the
// first one.
func requestsAreUnique(ctx context.Context, t *trial) error {
	seen := make(map[string]bool)
	for range 2 {
		askedBefore := len(seen)
		c, err := t.start(ctx, askedBefore)
		if err != nil {
			return err
		}
		for range 2 {
			read, err := c.ok(ctx, "read key0")
			if err != nil {
				return err
			}
			if _, err := t.stored(ctx, read.asked); err != nil {
				return err
			}
			if id := read.asked.Request; seen[id] {
				return fmt.Errorf("the request %q comes twice; --asked-before was %d", id, askedBefore)
			}
			seen[read.asked.Request] = true
		}
		if err := c.process.Kill(); err != nil {
			return err
		}
	}
	return nil
}

func valuesAreWhole(ctx context.Context, t *trial) error {
	c, _, err := t.holder(ctx)
	if err != nil {
		return err
	}
	const value = "a=b  c ü %2F"
	write, err := c.ok(ctx, "write key1="+value)
	if err != nil {
		return err
	}
	did, err := t.stored(ctx, write.asked)
	if err != nil {
		return err
	}
	read, err := c.ok(ctx, "read key1")
	switch {
	case err != nil:
		return err
	case did.Key != "key1" || did.Value != value || read.outcome.Value != value:
		return fmt.Errorf("%q was written to the key %q, and %q was read: want %q", did.Value, did.Key, read.outcome.Value, value)
	}
	nothing, err := c.ok(ctx, "read nothing")
	if err == nil && !nothing.outcome.Missing {
		err = errors.New("it reads a key that has no value, and does not say that it is missing")
	}
	return err
}

func beginStands(ctx context.Context, t *trial) error {
	c, _, err := t.holder(ctx)
	if err != nil {
		return err
	}
	e, err := c.begin(ctx, "write key0=begun")
	if err == nil && (e.Op != history.OpWrite || e.Key != "key0") {
		err = fmt.Errorf("its note says the op %q and the key %q, want write and key0", e.Op, e.Key)
	}
	if err != nil {
		return err
	}
	if err := c.tell("read key0"); err != nil {
		return err
	}
	if e, err = c.next(ctx); err == nil && e.Kind != history.KindError {
		err = fmt.Errorf("it stands, and answers a read by the kind %q, want error", e.Kind)
	}
	if err != nil {
		return err
	}
	told := time.Now()
	write, err := c.ok(ctx, "finish")
	if err != nil {
		return err
	}
	did, err := t.stored(ctx, write.asked)
	if err == nil && did.Time.Before(told) {
		err = errors.New("the storage had its write before it was told to finish")
	}
	return err
}
