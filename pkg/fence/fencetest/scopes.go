package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

func scopeGuardsAllItsKeys(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(33), "one", "old", admitted)
	s.write(claim(33), "two", "old", admitted)
	s.write(claim(34), "one", "new", admitted)
	s.write(claim(33), "two", "stale", fence.ErrStale)
	s.write(claim(33), "three", "stale", fence.ErrStale)
	s.read(unfenced, "two", "old", admitted)
	s.read(unfenced, "three", "", admitted)
	return s.err
}

func scopesAreIndependent(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "a", admitted)
	s.write(fence.Claim{Scope: lock2, Token: 5}, lock2, "b", admitted)
	s.write(fence.Claim{Scope: lock2, Token: 4}, lock2, "stale", fence.ErrStale)
	s.write(claim(34), lock, "a again", admitted)
	s.read(unfenced, lock, "a again", admitted)
	s.read(fence.Claim{Scope: lock2}, lock2, "b", admitted)
	s.write(fence.Claim{Scope: "lock-c", Token: 35}, "lock-c", "c", admitted)
	s.write(fence.Claim{Scope: "lock-d", Token: 34}, "lock-d", "d", admitted)
	s.write(fence.Claim{Scope: "lock-c", Token: 34}, "lock-c", "stale", fence.ErrStale) // though it is the other's newest
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
