package locktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// inspecting makes a law of one that is about a lock.Inspector.
func inspecting(check func(*trial) error) func(*trial) error {
	return inspects(func(t *trial) error {
		if b := t.a.Backend.(patient).Backend; !is[lock.Inspector](b) {
			return fmt.Errorf("the subject tells who holds a lock, and its Backend, a %T, is no lock.Inspector", b)
		}
		return check(t)
	})
}

func (t *trial) inspect(c Client) (lock.State, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.bound())
	defer cancel()
	state, err := c.Backend.(patient).Backend.(lock.Inspector).Inspect(ctx, t.scope)
	if err != nil {
		return lock.State{}, fmt.Errorf("inspect: %w", err)
	}
	return state, nil
}

// words are those of the holder of a number: text of several alphabets, with what is a mark in
// one format or another.
func words(n int) string { return fmt.Sprintf("wörker %d, #/:'{}\n夜間バックアップ 🔒", n) }

// holders is nil if c is told that these hold the lock, who gave the words of their numbers.
func (t *trial) holders(c Client, held ...lock.Tenure) error {
	state, err := t.inspect(c)
	if err != nil {
		return err
	}
	if len(state.Holders) != len(held) || len(state.Waiters) > 0 {
		return fmt.Errorf("Inspect tells of %+v, want %d holders", state, len(held))
	}
	told := make(map[string]lock.Party)
	for _, h := range state.Holders {
		told[h.Owner] = h
	}
	for n, tenure := range held {
		if err := t.isTold(told, tenure.Grant(), n); err != nil {
			return fmt.Errorf("Inspect tells of %+v: %w", state.Holders, err)
		}
	}
	return nil
}

// isTold is nil if the holder of a number is told as it is.
func (t *trial) isTold(told map[string]lock.Party, grant lock.Grant, n int) error {
	is, there := told[grant.Owner]
	switch {
	case !there || is.Scope != grant.Scope || is.Mode != grant.Mode:
		return fmt.Errorf("want the holder of %+v", grant)
	case is.Token != 0 && is.Token != grant.Token:
		return fmt.Errorf("want the token of %+v, or none", grant)
	case !t.NoWords && is.Words != words(n):
		return fmt.Errorf("want the words %q of %+v", words(n), grant)
	case is.Left < 0 || is.Left > t.bound():
		return fmt.Errorf("a lease of %+v, with a TTL of %v", grant, t.TTL)
	}
	return nil
}

// takeWith takes the lock with the words of a number.
func (t *trial) takeWith(n int, from func(context.Context, string) (lock.Tenure, error)) (lock.Tenure, error) {
	return t.take(func(ctx context.Context, scope string) (lock.Tenure, error) {
		return from(lock.WithWords(ctx, words(n)), scope)
	}, t.scope)
}

func holdersAreTold(t *trial) error {
	if err := t.holders(t.b); err != nil {
		return fmt.Errorf("nobody has ever taken the lock: %w", err)
	}
	for _, take := range []func(context.Context, string) (lock.Tenure, error){t.a.Lock, t.a.TryLock} {
		tenure, err := t.takeWith(0, take)
		if err != nil {
			return err
		}
		if err := t.holders(t.b, tenure); err != nil {
			return err
		}
		if err := t.unlock(tenure); err != nil {
			return err
		}
		if err := t.holders(t.b); err != nil {
			return fmt.Errorf("after the unlock: %w", err)
		}
	}
	if !t.Shared {
		return nil
	}
	return readersAreTold(t)
}

func readersAreTold(t *trial) error {
	first, err := t.takeWith(0, sharer(t.a).RLock)
	if err != nil {
		return err
	}
	second, err := t.takeWith(1, sharer(t.b).TryRLock)
	if err != nil {
		return err
	}
	if err := t.holders(t.c, first, second); err != nil {
		return err
	}
	if err := t.unlock(second); err != nil {
		return err
	}
	if err := t.holders(t.c, first); err != nil {
		return fmt.Errorf("after the unlock of another reader: %w", err)
	}
	return t.unlock(first)
}

func waitersAreTold(t *trial) error {
	state, err := t.inspect(t.c)
	if err != nil {
		return err
	}
	if !state.Queue {
		return fmt.Errorf("the service does not know who waits: %w", errors.ErrUnsupported)
	}
	holder, err := t.lock(t.a)
	if err != nil {
		return err
	}
	var waiting []<-chan outcome
	for n, c := range []Client{t.b, t.a} {
		waiting = append(waiting, t.background(taking{fence.Exclusive, func() (lock.Tenure, error) {
			return t.takeWith(n, c.Lock)
		}}))
	}
	state, err = t.inspect(t.c)
	if err != nil {
		return err
	}
	if len(state.Holders) != 1 || state.Holders[0].Owner != holder.Grant().Owner || len(state.Waiters) != len(waiting) {
		return fmt.Errorf("Inspect tells of %+v, want the holder of %+v and %d waiters", state, holder.Grant(), len(waiting))
	}
	for n, is := range state.Waiters {
		if !t.NoWords && is.Words != words(n) {
			return fmt.Errorf("of waiter %d Inspect tells the words %q, want %q", n, is.Words, words(n))
		}
	}
	return t.granted(holder, waiting, state.Waiters)
}

// granted has the lock go from the holder to each of those who wait, as they were told.
func (t *trial) granted(holder lock.Tenure, waiting []<-chan outcome, told []lock.Party) error {
	for n, next := range waiting {
		if err := t.unlock(holder); err != nil {
			return err
		}
		got := <-next
		if got.err != nil {
			return got.err
		}
		holder = got.tenure
		if is := holder.Grant(); is.Owner != told[n].Owner || told[n].Token != 0 && is.Token != told[n].Token {
			return fmt.Errorf("%+v was told of one who waited, and %+v was granted", told[n], is)
		}
	}
	return t.unlock(holder)
}

func inspectionChangesNothing(t *trial) error {
	if _, err := t.inspect(t.a); err != nil {
		return err
	}
	if err := t.free(t.b); err != nil {
		return fmt.Errorf("after an inspection: %w", err)
	}
	tenure, err := t.lock(t.a)
	if err != nil {
		return err
	}
	for _, c := range []Client{t.a, t.b} {
		if _, err := t.inspect(c); err != nil {
			return err
		}
	}
	if err := t.held(t.c); err != nil {
		return fmt.Errorf("after inspections: %w", err)
	}
	if err := t.unlock(tenure); err != nil {
		return fmt.Errorf("unlock after inspections: %w", err)
	}
	return t.free(t.b)
}
