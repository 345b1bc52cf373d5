package locktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

func nothingGoesOn(t *trial) error { return t.nothingOf(func(*Client) {}) }

func nothingOfReaders(t *trial) error { return t.nothingOf(reads) }

// nothingOf looks for goroutines by a label, which they inherit from the check that began
// them. What a program begins once and for all stays by right: another trial begins nothing.
func (t *trial) nothingOf(change func(*Client)) error {
	var (
		last lock.Tenure
		left []byte
		err  error
	)
	pprof.Do(t.ctx, pprof.Labels("locktest", t.scope), func(context.Context) { last, err = t.session(change) })
	if err != nil {
		return err
	}
	// A goroutine that a timer began has no label, and would outlast the law.
	_ = t.told(last)
	for began := time.Now(); time.Since(began) < t.bound(); time.Sleep(t.TTL / 20) { // stands for no event: nothing tells that a goroutine has ended
		if left = goroutines(t.scope); left == nil {
			return nil
		}
	}
	return fmt.Errorf("%v after all clients were closed, goroutines go on that they began:\n%s", t.bound(), left)
}

// session has clients do what leaves something to clear up. Those who come beside the first one are changed before. It returns
// a tenure that nobody has unlocked.
func (t *trial) session(change func(*Client)) (last lock.Tenure, err error) {
	clients, leave, err := t.crowd(3)
	if err != nil {
		return nil, err
	}
	defer leave()
	change(&clients[1])
	change(&clients[2])
	a, b, c := clients[0], clients[1], clients[2]
	held, err := t.lock(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/8)
	defer cancel()
	_, waited := b.Lock(ctx, t.scope)
	if _, tried := t.tryLock(c); waited == nil || tried == nil {
		return nil, fmt.Errorf("%+v was current, and others were granted the lock", held.Grant())
	}
	next := t.background(t.locking(b))
	if err := t.unlock(held); err != nil {
		return nil, err
	}
	got := <-next
	if got.err != nil {
		return nil, got.err
	}
	if err := t.unlock(got.tenure); err != nil {
		return nil, err
	}
	if err := t.free(b); err != nil {
		return nil, err
	}
	if last, err = t.lock(c); err != nil {
		return nil, err
	}
	return last, errors.Join(t.falls(b, a, t.scope+"/1"), t.falls(a, c, t.scope+"/2"))
}

// falls has a client do what it can that is cut off, and crash in the end. What its unlocks return is about other laws.
// Its scopes are below one, and are short: services may refuse long ones.
func (t *trial) falls(c, beside Client, scope string) error {
	if c.Crash == nil || c.Wake == nil {
		return nil
	}
	done := t.done()[0]
	lost, err := t.lockIn(c, scope+"/lost")
	if err != nil {
		return err
	}
	c.Crash()
	_ = t.told(lost)
	c.Wake()
	_, _ = t.unlock(lost), lost.Unlock(done)
	under, err := t.lockIn(c, scope+"/under")
	if err != nil {
		return err
	}
	_ = under.Unlock(done)
	unanswered, err := t.lockIn(c, scope+"/unanswered")
	if err != nil {
		return err
	}
	held, err := t.lockIn(beside, scope+"/held")
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(t.ctx)
	defer end()
	waits := t.background(waitingFor(ctx, c, scope+"/held"))
	c.Crash()
	soon, cancel := context.WithTimeout(t.ctx, t.TTL/8)
	defer cancel()
	_ = unanswered.Unlock(soon)
	defer time.AfterFunc(t.bound(), end).Stop()
	<-waits
	_ = t.unlock(held)
	return nil
}

// goroutines is the profile of the goroutines that have a label; nil: there are none.
func goroutines(label string) []byte {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1) // a buffer takes it all
	var found []byte
	for _, group := range bytes.Split(all.Bytes(), []byte("\n\n")) {
		if bytes.Contains(group, []byte(strconv.Quote(label))) {
			found = append(found, group...)
		}
	}
	return found
}
