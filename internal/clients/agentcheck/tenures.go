package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

func (t *trial) holder() (*client, answer) {
	c := t.start(0)
	a := c.ok("lock")
	if a.outcome.Tenure == "" {
		failf("the ok of its lock names no tenure")
	}
	return c, a
}

// await waits so long for what the accounts are to tell. lack is what they do not, in words.
func (t *trial) await(within time.Duration, what, lack string, told func(*stage.Account) bool) {
	ctx, cancel := context.WithTimeoutCause(t.ctx, within, fmt.Errorf("%s after %v", lack, within))
	defer cancel()
	fail.If(t.stage.Await(ctx, what, told))
}

// granted is the grant of which a client was told, by the lock service's account.
func (t *trial) granted(told history.Event) (e history.Event) {
	what := fmt.Sprintf("the grant of the tenure %q that it names", told.Tenure)
	t.await(t.Patience, what, "the lock service's account has none", func(a *stage.Account) (has bool) {
		e, has = a.Find(history.KindGranted, t.lock, told.Tenure)
		return has
	})
	return e
}

func (t *trial) ended(tenure string) (e history.Event) {
	within := t.Patience
	if t.check.ttl != long { // else its end has another reason
		within += t.check.ttl
	}
	t.await(within, fmt.Sprintf("the end of its tenure %q", tenure), "by the lock service's account it goes on", func(a *stage.Account) (ended bool) {
		e, ended = a.Find(history.KindEnded, t.lock, tenure)
		return ended
	})
	return e
}

func tenureIsTheServices(t *trial) {
	_, lock := t.holder()
	if wrong := history.WrongToken(t.shows, lock.outcome.Token, t.granted(lock.outcome).Token); wrong != "" {
		failf("it %s", wrong)
	}
}

func heldIsHeld(t *trial) {
	c, first := t.holder()
	o := c.do("lock").outcome
	held := o.Kind == history.KindFail && o.Reason == "held"
	if same := o.Kind == history.KindOK && o.Tenure == first.outcome.Tenure; !held && !same {
		failf("it holds %s, and its second lock ends as %q, with the reason %q and the tenure %q: want fail with the reason held, or ok with the tenure %q",
			t.lock, o.Kind, o.Reason, o.Tenure, first.outcome.Tenure)
	}
}

func unlockFrees(t *trial) {
	c, lock := t.holder()
	if unlock := c.ok("unlock"); unlock.asked.Tenure != lock.outcome.Tenure {
		failf("it unlocks the tenure %q, and holds %q", unlock.asked.Tenure, lock.outcome.Tenure)
	}
	t.ended(lock.outcome.Tenure)
	if write := c.do("write key0=after"); write.asked.Token != 0 {
		failf("it has unlocked the lock, and its write shows the token %d", write.asked.Token)
	}
}

func waitEnds(t *trial) {
	c, other := t.taken()
	wait := c.do("lock within 300ms")
	waited := wait.outcome.At - wait.asked.At
	switch {
	case wait.outcome.Kind != history.KindFail:
		failf("another client holds the lock, and its wait ends as %q, want fail", wait.outcome.Kind)
	case waited >= t.Settings.Time(setting.Timeout):
		failf("it was to wait for 300ms, and waited for %v", waited)
	}
	other.ok("unlock")
	// Nobody is before the next one, unless the client waits still.
	if err := fail.Caught(func() { other.ok("lock within 2s") }); err != nil {
		failf("it waits no more, and another client does not get the lock that is free: %w", err)
	}
}

func (t *trial) ends(how func(*client) error) {
	c, lock := t.holder()
	fail.If(how(c))
	within := time.After(t.Patience)
	for over := false; !over; {
		select {
		case l := <-c.lines:
			if over = l.err != nil; !over {
				c.note("<", l.text)
			}
		case <-within:
			failf("it goes on after %v", t.Patience)
		}
	}
	soon, cancel := context.WithTimeoutCause(t.ctx, t.Patience, os.ErrDeadlineExceeded)
	defer cancel()
	if err := c.process.AwaitEnd(soon); err != nil {
		failf("it does not end with status 0: %w", err)
	}
	t.ended(lock.outcome.Tenure)
}

func (t *trial) taken() (c, other *client) {
	other = t.other()
	other.ok("lock")
	return t.start(0), other
}

func tryTakesIfFree(t *trial) {
	c, other := t.taken()
	if try := c.do("trylock"); try.outcome.Kind != history.KindFail {
		failf("another client holds the lock, and its trylock ends as %q, want fail", try.outcome.Kind)
	}
	other.ok("unlock")
	try := c.ok("trylock")
	if try.asked.Op != history.OpTryLock {
		failf("the op of its trylock is %q, want %q", try.asked.Op, history.OpTryLock)
	}
	t.granted(try.outcome)
}

func queueWaits(t *trial) {
	c, other := t.taken()
	c.tell("queue")
	wait := c.do("wait within 300ms")
	switch waited := wait.outcome.At - wait.asked.At; {
	case wait.asked.Op != history.OpLock || wait.outcome.Kind != history.KindFail:
		failf("another client holds the lock, and what it queued for, of op %q, ends as %q: want the op lock, and fail", wait.asked.Op, wait.outcome.Kind)
	case waited >= t.Settings.Time(setting.Timeout):
		failf("it was to wait for 300ms, and waited for %v", waited)
	}
	c.tell("queue")
	other.ok("unlock")
	t.granted(c.ok("wait").outcome)
}

// paused stops the client before a write until its lease has ended and another client has written.
func (t *trial) paused() (c, other *client, late answer, mark history.Event) {
	other = t.other() // first: the lease is short, and a program may take long to start
	c, lock := t.holder()
	c.begin("write key0=late")
	fail.If(c.process.Pause())
	err := fail.Caught(func() {
		t.ended(lock.outcome.Tenure)
		mark = other.ok("lock").outcome
		other.ok("write key0=new")
	})
	fail.If(errors.Join(err, c.process.Resume()))
	late = c.do("finish")
	if late.asked.Token != lock.outcome.Token {
		failf("its write shows the token %q, and its grant has %q", history.Decimal(late.asked.Token), history.Decimal(lock.outcome.Token))
	}
	return c, other, late, mark
}

func lateWriteIsSent(t *trial) {
	_, _, late, mark := t.paused()
	t.stored(late.asked)
	o := late.outcome
	switch {
	case t.shows == history.ShowsNone && o.Kind != history.KindOK:
		failf("the storage checks nothing, and the late write ends as %q, want ok", o.Kind)
	case t.shows != history.ShowsNone && (o.Kind != history.KindFail || o.Reason != "stale" || o.Mark != mark.Token):
		failf("the storage refused the late write as stale, with the mark %d, and it says %q with the reason %q and the mark %d",
			mark.Token, o.Kind, o.Reason, o.Mark)
	}
}

func lossIsTold(t *trial) {
	c, _, late, _ := t.paused()
	if len(c.lost) > 0 {
		failf("it says lost before the outcome of what it had begun")
	}
	for {
		e, err := c.hear()
		switch {
		case err != nil:
			failf("waiting for lost: %w", err)
		case e.Kind == history.KindLost && e.Tenure != late.asked.Tenure:
			failf("it lost the tenure %q, and says %q", late.asked.Tenure, e.Tenure)
		case e.Kind == history.KindLost:
			return
		}
	}
}

func lateUnlockFreesNothing(t *trial) {
	if how := t.Settings[setting.Unlock]; how != setting.Defaults(t.Service.Client)[setting.Unlock] {
		fail.If(&unableError{fmt.Sprintf("it is told to unlock in another way (%s)", how)})
	}
	c, other, _, next := t.paused()
	c.do("unlock")
	if other.do("unlock").outcome.Kind == history.KindOK {
		return
	}
	if t.ended(next.Tenure).Cause == history.CauseExpired {
		fail.If(&unableError{"the lease of the next holder ran out, too"})
	}
	failf("its late unlock has freed the lock of the next holder, in the tenure %q", next.Tenure)
}
