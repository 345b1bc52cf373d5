package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/scene"
	"github.com/fencelab/fencelab/internal/setting"
)

// TTLs of the client's lease: one that is not to run out in a check, and one that is.
const (
	long  = 60 * time.Second
	short = time.Second
)

// checks are all, in their order. The first one is about what all others need.
var checks = []check{
	{name: "SaysReady", doc: `its first event is a note with the key "protocol" and the version "1"`, ttl: long, run: saysReady},
	{name: "UnknownIsAnError", doc: "a command that it does not know is answered by one event of kind error, and it goes on", ttl: long, run: unknownIsAnError},
	{name: "LinesAreTrimmed", doc: "empty lines are skipped, and a carriage return at the end of a line is dropped", ttl: long, run: linesAreTrimmed},
	{name: "InvokeComesFirst", doc: "it writes invoke before it asks, and the outcome when it has the answer", ttl: long, run: invokeComesFirst},
	{name: "TenureIsTheServices", doc: "tenure and token are those of the lock service's own account", ttl: long, run: tenureIsTheServices},
	{name: "HeldIsHeld", doc: "a lock that it holds is not taken twice: reason held, or the same tenure", ttl: long, run: heldIsHeld},
	{name: "RequestIsSent", doc: "the request of an invoke goes to the storage as X-Request-Id, with scope, token, key and value", ttl: long, run: requestIsSent},
	{name: "RequestsAreUnique", doc: "no request comes twice, also in a process that takes the place of a killed one", ttl: long, run: requestsAreUnique},
	{name: "ValuesAreWhole", doc: "a value is written and read as it is, and a read says what is missing", ttl: long, run: valuesAreWhole},
	{name: "BeginStands", doc: "after begin write it stands: nothing goes to the storage before finish", ttl: long, run: beginStands},
	{name: "LateWriteIsSent", doc: "stopped before a write until its lease ran out, it writes with its old token, and says what the storage answered", ttl: short, run: lateWriteIsSent},
	{name: "LossIsTold", doc: "when its lease is over it says lost, with the tenure; if it stands, after the outcome of what it had begun", ttl: short, run: lossIsTold},
	{name: "UnlockFrees", doc: "unlock ends the tenure, and later writes show no token", ttl: long, run: unlockFrees},
	{name: "WaitEnds", doc: "lock within a time fails after that time, and leaves the queue", ttl: long, run: waitEnds},
	{name: "EndReleases", doc: "at the end of its input it releases its lock, and ends with status 0", ttl: long, run: func(ctx context.Context, t *trial) error {
		return t.ends(ctx, func(c *client) error { return c.process.Stdin.Close() })
	}},
	{name: "TermReleases", doc: "at SIGTERM it does the same", ttl: long, run: func(ctx context.Context, t *trial) error {
		return t.ends(ctx, func(c *client) error { return c.process.Signal(syscall.SIGTERM) })
	}},
}

func saysReady(ctx context.Context, t *trial) error {
	_, err := t.start(ctx, 0)
	return err
}

func unknownIsAnError(ctx context.Context, t *trial) error {
	c, err := t.start(ctx, 0)
	if err != nil {
		return err
	}
	const unknown = "fly to the moon"
	if err := c.tell(unknown); err != nil {
		return err
	}
	e, err := c.next(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("after %q: %w", unknown, err)
	case e.Kind != history.KindError || e.Text == "":
		return fmt.Errorf("it answers %q by an event of kind %q and the text %q, want the kind error with a text that says what is wrong", unknown, e.Kind, e.Text)
	}
	_, err = c.ok(ctx, "lock")
	return err
}

func linesAreTrimmed(ctx context.Context, t *trial) error {
	c, err := t.start(ctx, 0)
	if err != nil {
		return err
	}
	if err := c.tell("\r\n"); err != nil {
		return err
	}
	a, err := c.ok(ctx, "lock\r")
	if err == nil && a.outcome.Scope != t.lock {
		err = fmt.Errorf("it takes the lock %q, want %q", a.outcome.Scope, t.lock)
	}
	return err
}

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

// paused stops the client right before a write until its lease has run out and another client
// has written, and lets it write.
func (t *trial) paused(ctx context.Context) (c *client, late answer, mark history.Event, err error) {
	c, lock, err := t.holder(ctx)
	if err != nil {
		return c, late, mark, err
	}
	other, err := t.other(ctx)
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
