package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

func deleteRaisesMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.delete(claim(34), lock, admitted) // of nothing
	s.write(claim(33), lock, "stale", fence.ErrStale)
	s.write(claim(34), lock, "new", admitted)
	s.delete(claim(35), lock, admitted)
	s.write(claim(34), lock, "stale", fence.ErrStale)
	s.delete(claim(36), "absent", admitted)
	s.write(claim(35), lock, "stale", fence.ErrStale)
	s.read(unfenced, lock, "", admitted)
	return s.err
}

// longValue is how long a value is that is longer than a line, as stores read one. A store may refuse it.
const longValue = 70_000

func restartKeepsEveryMark(ctx context.Context, sub Subject) error {
	if sub.Restart == nil {
		return fmt.Errorf("%w: the store loses its data with the process", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	scopes := []string{"read", "read of nothing", "delete", "delete of nothing"}
	const lines = "one\ntwo"
	s.write(of("lines", 34), "lines", lines, admitted)
	s.refusableWrite(of("long", 34), "long", strings.Repeat("v", longValue))
	for _, scope := range scopes {
		if !strings.HasSuffix(scope, "nothing") {
			s.write(of(scope, 33), scope, "old", admitted)
		}
		op, _, _ := strings.Cut(scope, " ")
		s.request(op, of(scope, 34), scope)
	}
	for range restarts { // a store that reads its marks must keep them as well
		s.restart(sub)
		s.read(of("lines", 0), "lines", lines, admitted)
		for _, scope := range scopes {
			s.write(of(scope, 33), scope, "stale", fence.ErrStale)
		}
	}
	return s.err
}

// refusalKeepsMark does not judge the refusals themselves, which other laws do.
func refusalKeepsMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "kept", admitted)
	for _, c := range []fence.Claim{claim(33), claim(1), claim(-1), unfenced} {
		for _, op := range []string{opDelete, opRead, opWrite} {
			for _, key := range []string{"absent", lock} {
				if s.err != nil {
					return s.err
				}
				if c.Token == 0 && op == opRead {
					continue
				}
				_, _ = request(ctx, s.store, op, c, key)
				s.write(claim(33), lock, fmt.Sprintf("stale after a %s of %s with %s", op, key, inWords(c)), fence.ErrStale)
			}
		}
	}
	s.write(claim(34), lock, "the same tenure", admitted)
	return s.err
}

const (
	manyWriters = 32   // requests that are under way at a time
	maxLooked   = 2000 // of many marks, those that are looked at
	fewLooked   = 200  // by a second process
)

func manyMarksStay(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	if s.err != nil {
		return s.err
	}
	m := many{s.store, sub.marks(), !sub.NoSequence}
	if err := m.write(ctx); err != nil {
		return err
	}
	if err := m.stale(ctx, max(1, m.n/maxLooked)); err != nil || sub.Second == nil {
		return err
	}
	two, err := sub.beginSecond(ctx, s)
	if err != nil {
		return err
	}
	m.Store = two.store
	return m.stale(ctx, max(1, m.n/fewLooked))
}

func marksOfAllRequestsStay(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	if s.err != nil {
		return s.err
	}
	m := many{s.store, sub.marks(), false}
	if err := m.request(ctx, opRead, opDelete); err != nil {
		return err
	}
	return m.stale(ctx, max(1, m.n/maxLooked))
}

// restartKeepsManyMarks is for stores that tidy up what they keep, now and then.
func restartKeepsManyMarks(ctx context.Context, sub Subject) error {
	if sub.Restart == nil {
		return fmt.Errorf("%w: the store loses its data with the process", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	if s.err != nil {
		return s.err
	}
	m := many{s.store, sub.marks(), false}
	if err := m.write(ctx); err != nil {
		return err
	}
	err := each(m.n, func(i int) error {
		if i%2 != 0 {
			return nil
		}
		return s.store.Delete(ctx, m.claim(i), m.claim(i).Scope)
	})
	s.judge("a delete", err, admitted)
	for range restarts { // at the first one, too, it may tidy up
		s.restart(sub)
	}
	if s.err != nil {
		return s.err
	}
	m.Store = s.store
	return m.stale(ctx, 7) // keys that are there, and deleted ones
}

// many are scopes of a store, each with one key.
type many struct {
	Store
	n        int
	numbered bool // the claims have sequence numbers
}

// claim is that of a scope. The tokens fall, so that two scopes with one mark refuse the second.
func (m many) claim(i int) fence.Claim {
	c := fence.Claim{Scope: fmt.Sprintf("lock-%d", i), Token: fence.Token(34 + 2*(m.n-i))}
	if m.numbered {
		c.Sequence = 2
	}
	return c
}

// write writes in all scopes.
func (m many) write(ctx context.Context) error { return m.request(ctx, opWrite) }

// request makes a request in all scopes: each of the ops in turn.
func (m many) request(ctx context.Context, ops ...string) error {
	return each(m.n, func(i int) error {
		c, op := m.claim(i), ops[i%len(ops)]
		_, err := request(ctx, m, op, c, c.Scope)
		if err != nil {
			return unwanted(fmt.Sprintf("with %d scopes: the first %s in scope %d, with %s: got error %q, want it admitted", m.n, op, i, inWords(c), err), err)
		}
		return nil
	})
}

// stale wants stale writes refused, in each scope or each that is so many after it. Of numbered ones every other is late only.
func (m many) stale(ctx context.Context, step int) error {
	return each(m.n/step, func(i int) error {
		c := m.claim(i * step)
		if m.numbered && i%2 == 0 {
			c.Sequence--
		} else {
			c.Token--
		}
		if err := m.Write(ctx, c, c.Scope, "stale"); !errors.Is(err, fence.ErrStale) {
			return unwanted(fmt.Sprintf("with %d scopes: a stale write in scope %d: got %v, want it refused", m.n, i*step, err), err)
		}
		return nil
	})
}

// marks is how many scopes the store is shown at a time.
func (sub Subject) marks() int {
	if sub.Marks == 0 {
		return defaultMarks
	}
	return sub.Marks
}

// each calls f for 0 to n-1, some at a time, and returns an error.
func each(n int, f func(int) error) error {
	errs := make([]error, manyWriters)
	var wg sync.WaitGroup
	for w := range manyWriters {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += manyWriters {
				errs[w] = f(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func timeKeepsMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	scopes := []string{"written", "deleted", "read only"}
	s.write(of("goes on", 34), "goes on", "new", admitted)
	s.write(of("written", 34), "written", "new", admitted)
	s.write(of("deleted", 34), "deleted", "new", admitted)
	s.delete(of("deleted", 34), "deleted", admitted)
	s.read(of("read only", 34), "read only", "", admitted)
	if !sub.NoShared {
		for _, op := range []string{opRead, opWrite, opDelete} {
			scope := "shared " + op
			c := of(scope, 34)
			c.Mode = fence.Shared
			s.request(op, c, scope)
			scopes = append(scopes, scope)
		}
	}
	if !sub.NoSequence {
		s.write(seq(34, 2), lock, "second", admitted)
	}
	if s.err != nil {
		return s.err
	}
	idle := sub.Idle
	if idle == 0 {
		idle = defaultIdle
	}
	time.Sleep(idle) // stands for no event: that time goes by is the point
	s.write(of("goes on", 34), "goes on", "of the same tenure", admitted)
	for _, scope := range scopes {
		s.write(of(scope, 33), scope, "stale", fence.ErrStale)
	}
	if !sub.NoSequence {
		s.duplicate(opWrite, seq(34, 2), lock)
		s.read(unfenced, lock, "second", admitted)
		s.write(seq(34, 1), lock, "late retry", fence.ErrStale)
	}
	return s.err
}

func processesShareMarks(ctx context.Context, sub Subject) error {
	one, two, err := sub.beginTwo(ctx)
	if err != nil {
		return err
	}
	one.write(claim(33), lock, "old", admitted)
	two.read(unfenced, lock, "old", admitted)
	two.write(claim(34), lock, "new", admitted)
	one.write(claim(33), lock, "stale", fence.ErrStale)
	one.read(claim(35), lock, "new", admitted)
	two.write(claim(34), lock, "stale", fence.ErrStale)
	two.delete(claim(36), lock, admitted)
	one.write(claim(35), lock, "stale", fence.ErrStale)
	one.delete(claim(37), lock, admitted) // of nothing
	two.delete(claim(36), lock, fence.ErrStale)
	if !sub.NoSequence {
		one.write(seq(38, high+2), lock, "second", admitted)
		two.delete(seq(38, high+1), lock, fence.ErrStale)
		two.write(seq(38, high+1), lock, "late retry", fence.ErrStale)
	}
	if one.err != nil || two.err != nil {
		return errors.Join(one.err, two.err)
	}
	late, err := sub.beginSecond(ctx, one) // that is opened only now
	if err != nil {
		return err
	}
	late.write(claim(36), lock, "stale", fence.ErrStale)
	one.write(claim(36), lock, "stale", fence.ErrStale)
	late.write(claim(39), lock, "new", admitted)
	two.write(claim(38), lock, "stale", fence.ErrStale)
	one.write(claim(40), lock, "new", admitted)
	late.write(claim(39), lock, "stale", fence.ErrStale)
	return errors.Join(one.err, two.err, late.err)
}
