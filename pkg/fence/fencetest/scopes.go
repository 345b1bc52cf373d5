package fencetest

import (
	"context"
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
	for _, sep := range []string{"/", ":", ".", "-", "_", "|", "#"} {
		s.write(claim(33), "one"+sep+"two", "stale", fence.ErrStale)
		s.write(claim(33), sep+"one", "stale", fence.ErrStale)
	}
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

// alike are names that somebody may take for one another.
func (sub Subject) alike() []string {
	long := func(at int, by string) string { // as long as a scope can be, and different in one place
		return strings.Repeat("s", at) + by + strings.Repeat("s", sub.maxScope()-at-1)
	}
	last := sub.maxScope() - 1
	one, other := "a", "b" // with one hash in 32 bits, where the hash is a sum or a polynomial
	for len(one) < min(256, sub.maxScope()/2+1) {
		one, other = one+other, other+one
	}
	return []string{
		one, other,
		"lock-mhktumbm", "lock-hwbrvggu", "lock-oilrtgpp", "lock-ybprhiuc", // … by CRC-32 and by CRC-32C, whatever is before and after them
		"lock-cjxkftbk", "lock-pmjgpqlj", "lock-bwviwmrg", "lock-efdqqrlj", // … by FNV-1 and by FNV-1a, with nothing before them
		"lock", "Lock", "LOCK", "/lock", "//lock", "/lock/", "/lock/a", "/lock/a/b", "/lock/../lock", "lock.",
		"a b", "a  b", "a+b", "a%20b", "a/b", "a%2Fb", "a\\b", "a.b", "a:b", "a|b", "a,b", "a-b", "a_b", "axb", "a%",
		"a,c", "a;b", "a;c", "a#b", "a#c", "a&b", "a&c", "a=b", "a=c", "a*", "a?", "ab", "aa",
		"é", "e\u0301", "É", "e", "ß", "ss", "k", "\u212a", "s", "\u017f", "fi", "\ufb01", "a", "\uff41", "2", "\u00b2", "i", "\u0131", "I", "\u0130",
		"1", "01", "1.0", "+1", "1e0", "0x1",
		long(last, "1"), long(last, "2"), long(last, "s")[1:], long(0, "1"), long(0, "2"), long(last/2, "1"), long(last/2, "2"),
	}
}

// odd are names that a store may refuse.
var odd = []string{
	"lock ", " lock", "lock  ", "lock\t", "lock\n", "lock\r\n", "lock\u00a0", "lock\u200b", "\ufefflock",
	"lock\x00", "lock\x00a", "lock\x00b", "\x00lock", "lock\x00\x00", "lock\x7f", "lock\x1b",
	"lock\xff", "lock\xfe", "lock\ufffd", "lock?", "l\xffock", "l\xfeock", "lock\xc3", "lock\xc0\xaf", "lock\xed\xa0\x80", "\xff", "\xfe",
	".", "..", "lo\u00adck", "lo\u200dck", "lock\U0001f363", "lock\U0001f37a",
}

func scopesAreNotConfused(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.apart(opWrite, sub.alike(), s.request)
	return s.err
}

func oddScopesAreApart(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	names := append([]string{"", "lock"}, odd...)
	for _, n := range []int{1, 4, 70} { // and longer than the store says that a scope can be
		long := strings.Repeat("s", n*sub.maxScope())
		names = append(names, long+"1", long+"2")
	}
	s.apart(opWrite, names, s.refusable)
	return s.err
}

func scopesAreApartForAll(ctx context.Context, sub Subject) error {
	for _, op := range []string{opDelete, opRead} {
		s := begin(ctx, sub.open)
		s.apart(op, sub.alike(), s.request)
		s.apart(op, odd, s.refusable)
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// apart makes a request in each scope, and a stale write in each where the first one was done.
func (s *steps) apart(op string, scopes []string, request requestFunc) {
	s.staleEach(s.claimEach(op, scopes, request))
}

// requestFunc makes a request, and reports whether it was done.
type requestFunc func(op string, c fence.Claim, key string) bool

// place is a key of a scope that has no other one, and the claim that was admitted there.
type place struct {
	fence.Claim
	key string
}

// claimEach makes a request in each scope, and returns where it was done.
func (s *steps) claimEach(op string, scopes []string, request requestFunc) (taken []place) {
	for i, scope := range scopes {
		// Falling, so that two scopes with one mark refuse the second.
		p := place{fence.Claim{Scope: scope, Token: fence.Token(1000 - i)}, fmt.Sprintf("key-%d-of-%d", i, len(scopes))}
		if request(op, p.Claim, p.key) {
			taken = append(taken, p)
		}
	}
	return taken
}

func (s *steps) staleEach(taken []place) {
	for _, p := range taken {
		p.Token--
		s.write(p.Claim, p.key, "stale", fence.ErrStale)
	}
}

func restartKeepsScopesApart(ctx context.Context, sub Subject) error {
	if sub.Restart == nil {
		return fmt.Errorf("%w: the store loses its data with the process", ErrNotApplicable)
	}
	s := begin(ctx, sub.open)
	taken := s.claimEach(opWrite, sub.alike(), s.request)
	taken = append(taken, s.claimEach(opWrite, odd, s.refusable)...)
	s.restart(sub)
	s.staleEach(taken)
	for _, p := range taken {
		s.write(p.Claim, p.key, "of the same tenure", admitted)
	}
	return s.err
}

// keyHasNoMark lets a store refuse a key under a second lock, but not as stale.
func keyHasNoMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	const key = "key"
	s.write(sub.numbered(claim(34), 5), key, "a", admitted)
	for _, op := range []string{opWrite, opRead, opDelete} {
		if s.refusable(op, of(lock2, 5), key) {
			s.write(of(lock2, 4), key, "stale", fence.ErrStale)
		}
		s.write(claim(33), key, "stale", fence.ErrStale)
	}
	if !sub.NoSequence {
		s.write(seq(34, 4), key, "late retry", fence.ErrStale)
	}
	s.write(sub.numbered(claim(34), 6), key, "a again", admitted)
	s.read(unfenced, key, "a again", admitted)
	s.refusable(opWrite, of(lock2, 40), key)
	s.write(claim(33), "another key", "stale", fence.ErrStale)
	if sub.Restart != nil {
		s.restart(sub)
		s.write(claim(33), "another key", "stale", fence.ErrStale)
	}
	return s.err
}

func scopeAndKeyAreApart(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	for i, sep := range []string{"", "/", ":", "::", "|", ".", "-", "_", ",", " ", "#", ";", "&", "=", "+", "@", "!", "~", "%", "$", "\\"} {
		long, short := "a"+sep+"b", "a"
		key := fmt.Sprintf("c%d", i) // of one lock only
		s.write(fence.Claim{Scope: long, Token: 34}, key, "of "+long, admitted)
		s.write(fence.Claim{Scope: short, Token: 5}, "b"+sep+key, "of "+short, admitted)
		s.write(fence.Claim{Scope: short, Token: 4}, "b"+sep+key, "stale", fence.ErrStale)
		s.read(fence.Claim{Scope: long}, key, "of "+long, admitted)
	}
	return s.err
}
