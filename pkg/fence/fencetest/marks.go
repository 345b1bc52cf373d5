package fencetest

import (
	"context"
	"errors"
	"fmt"
	"math"
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

func restartKeepsEveryMark(ctx context.Context, sub Subject) error {
	if sub.Restart == nil {
		return fmt.Errorf("%w: the store loses its data with the process", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	scopes := []string{"read", "read of nothing", "delete", "delete of nothing"}
	of := func(scope string, t fence.Token) fence.Claim { return fence.Claim{Scope: scope, Token: t} }
	for _, scope := range scopes {
		if !strings.HasSuffix(scope, "nothing") {
			s.write(of(scope, 33), scope, "old", admitted)
		}
		op, _, _ := strings.Cut(scope, " ")
		s.request(op, of(scope, 34), scope)
	}
	for range restarts { // a store that reads its marks must keep them as well
		s.restart(sub)
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
)

func manyMarksStay(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	if s.err != nil {
		return s.err
	}
	m := many{s.store, sub.marks()}
	if err := m.write(ctx); err != nil {
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
	m := many{s.store, sub.marks()}
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
	n int
}

// claim is that of a scope. The tokens fall, so that two scopes with one mark refuse the second.
func (m many) claim(i int) fence.Claim {
	return fence.Claim{Scope: fmt.Sprintf("lock-%d", i), Token: fence.Token(34 + 2*(m.n-i))}
}

// write writes in all scopes.
func (m many) write(ctx context.Context) error {
	return each(m.n, func(i int) error {
		c := m.claim(i)
		if err := m.Write(ctx, c, c.Scope, c.Token.String()); err != nil {
			return unwanted(fmt.Sprintf("with %d scopes: the first write in scope %d, with %s: got error %q, want it admitted", m.n, i, inWords(c), err), err)
		}
		return nil
	})
}

// stale wants stale writes refused, in each scope or each that is so many after it.
func (m many) stale(ctx context.Context, step int) error {
	return each(m.n/step, func(i int) error {
		c := m.claim(i * step)
		c.Token--
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
	of := func(scope string, t fence.Token) fence.Claim { return fence.Claim{Scope: scope, Token: t} }
	scopes := []string{"written", "deleted", "read only"}
	s.write(of("written", 34), "written", "new", admitted)
	s.write(of("deleted", 34), "deleted", "new", admitted)
	s.delete(of("deleted", 34), "deleted", admitted)
	s.read(of("read only", 34), "read only", "", admitted)
	reader := of("shared", 34)
	if !sub.NoShared {
		reader.Mode = fence.Shared
		scopes = append(scopes, "shared")
		s.request(opRead, reader, "shared")
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
	for _, scope := range scopes {
		s.write(of(scope, 33), scope, "stale", fence.ErrStale)
	}
	if !sub.NoSequence {
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
		one.write(seq(38, 2), lock, "second", admitted)
		two.delete(seq(38, 1), lock, fence.ErrStale)
		two.write(seq(38, 1), lock, "late retry", fence.ErrStale)
	}
	return errors.Join(one.err, two.err)
}

func sequenceIsOfTheTenure(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(33, 2), "one", "second", admitted)
	s.write(seq(33, 1), "two", "late retry", fence.ErrStale)
	s.read(unfenced, "two", "", admitted)
	return s.err
}

func sequenceHas64Bits(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	for _, n := range []int64{1<<31 + 1, 1<<32 + 1, 1<<53 + 1, math.MaxInt64} {
		s.write(seq(33, n), lock, fmt.Sprint(n), admitted)
		s.write(seq(33, n-1), lock, "late retry", fence.ErrStale)
		s.write(seq(33, 2), lock, "late retry", fence.ErrStale)
	}
	s.read(unfenced, lock, fmt.Sprint(math.MaxInt64), admitted)
	return s.err
}

func sequenceOrdersDeletes(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(33, 3), lock, "third", admitted)
	s.delete(seq(33, 2), lock, fence.ErrStale)
	if s.err == nil {
		if err := s.store.Delete(ctx, seq(33, 3), lock); err != nil && !errors.Is(err, fence.ErrDuplicate) {
			return unwanted(fmt.Sprintf("a delete with a number that was done: got error %q, want success or ErrDuplicate", err), err)
		}
	}
	s.read(unfenced, lock, "third", admitted)
	s.delete(seq(33, 5), lock, admitted)
	s.write(seq(33, 4), lock, "late retry", fence.ErrStale)
	s.read(unfenced, lock, "", admitted)
	return s.err
}

func sequenceOutlivesOthers(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(33, 3), lock, "third", admitted)
	s.read(claim(33), lock, "third", admitted)
	s.write(seq(33, 2), lock, "late retry after a read", fence.ErrStale)
	s.delete(claim(33), lock, admitted)
	s.write(seq(33, 2), lock, "late retry after a delete", fence.ErrStale)
	s.read(unfenced, lock, "", admitted)
	return s.err
}

// maxScope is the longest scope that the store takes.
func (sub Subject) maxScope() int {
	if sub.MaxScope == 0 {
		return defaultMaxScope
	}
	return sub.MaxScope
}

func scopesAreNotConfused(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	long := strings.Repeat("s", sub.maxScope()-1)
	scopes := []string{
		"lock", "Lock", "LOCK", "/lock", "//lock", "/lock/", "/lock/a", "/lock/a/b", "/lock/../lock", "lock.",
		"a b", "a  b", "a+b", "a%20b", "a/b", "a%2Fb", "a\\b", "a.b", "a:b", "a|b", "a,b", "a-b", "a_b", "axb", "a%",
		"a,c", "a;b", "a;c", "a#b", "a#c", "a&b", "a&c", "a=b", "a=c", "a*", "a?", "ab", "aa",
		"é", "e\u0301", "É", "ß", "ss", "1", "01", "1.0", long + "1", long + "2", long,
	}
	for i, scope := range scopes {
		// Falling, so that two scopes with one mark refuse the second.
		s.write(fence.Claim{Scope: scope, Token: fence.Token(1000 - i)}, fmt.Sprintf("key-%d", i), "v", admitted)
	}
	for i, scope := range scopes {
		s.write(fence.Claim{Scope: scope, Token: fence.Token(999 - i)}, fmt.Sprintf("key-%d", i), "stale", fence.ErrStale)
	}
	return s.err
}

func oddScopesAreApart(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	scopes := []string{
		"lock", "lock ", " lock", "lock  ", "lock\t", "lock\n", "lock\r\n", "lock\u00a0", "lock\u200b", "\ufefflock",
		"lock\x00", "lock\x00a", "lock\x00b", "\x00lock", "lock\x00\x00", "lock\x7f", "lock\x1b",
		"lock\xff", "lock\xfe", "lock\ufffd", "lock?", "l\xffock", "l\xfeock", "lock\xc3", "lock\xc0\xaf", "lock\xed\xa0\x80", "\xff", "\xfe",
	}
	var taken []int
	for i, scope := range scopes {
		if s.err != nil {
			return s.err
		}
		// Falling, so that two scopes with one mark refuse the second.
		c := fence.Claim{Scope: scope, Token: fence.Token(1000 - i)}
		switch err := s.store.Write(ctx, c, fmt.Sprintf("key-%d", i), "v"); {
		case errors.Is(err, ErrNotApplicable):
			return err
		case errors.Is(err, fence.ErrStale):
			return unwanted(fmt.Sprintf("the first write with %s: got error %q, want it admitted, or the scope refused", inWords(c), err), err)
		case err == nil:
			taken = append(taken, i)
		}
	}
	for _, i := range taken {
		s.write(fence.Claim{Scope: scopes[i], Token: fence.Token(999 - i)}, fmt.Sprintf("key-%d", i), "stale", fence.ErrStale)
	}
	return s.err
}

// keyHasNoMark lets a store refuse a key under a second lock, but not as stale.
func keyHasNoMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	of := func(scope string, t fence.Token, n int64) fence.Claim {
		if sub.NoSequence {
			n = 0
		}
		return fence.Claim{Scope: scope, Token: t, Sequence: n}
	}
	const key = "key"
	s.write(of(lock, 34, 5), key, "a", admitted)
	for _, op := range []string{opWrite, opRead, opDelete} {
		if s.err != nil {
			return s.err
		}
		second := of(lock2, 5, 0)
		_, err := request(ctx, s.store, op, second, key)
		switch {
		case errors.Is(err, ErrNotApplicable):
			return err
		case errors.Is(err, fence.ErrStale):
			return unwanted(fmt.Sprintf("%s %s with %s: got error %q, though this scope has no such mark", op, key, inWords(second), err), err)
		case err == nil:
			s.write(of(lock2, 4, 0), key, "stale", fence.ErrStale)
		}
		s.write(of(lock, 33, 0), key, "stale", fence.ErrStale)
	}
	if !sub.NoSequence {
		s.write(of(lock, 34, 4), key, "late retry", fence.ErrStale)
	}
	s.write(of(lock, 34, 6), key, "a again", admitted)
	s.read(unfenced, key, "a again", admitted)
	return s.err
}

func scopeAndKeyAreApart(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	for _, sep := range []string{"", "/", ":", "::", "|", ".", "-", "_", ",", " ", "#"} {
		long, short := "a"+sep+"b", "a"
		s.write(fence.Claim{Scope: long, Token: 34}, "c", "of "+long, admitted)
		s.write(fence.Claim{Scope: short, Token: 5}, "b"+sep+"c", "of "+short, admitted)
		s.write(fence.Claim{Scope: short, Token: 4}, "b"+sep+"c", "stale", fence.ErrStale)
		s.read(fence.Claim{Scope: long}, "c", "of "+long, admitted)
	}
	return s.err
}
