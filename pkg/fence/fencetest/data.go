package fencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Data beside marks.

// marked are values that somebody who keeps a mark beside them may take for one.
var marked = []string{
	"1", "99", "-1", "0", "9223372036854775807", "1:x", "x:1", "99:x", "x:99", "1|x", "x|1", "1,x", "x,1", "1;x", "x;1", "1/x", "x/1",
	"1 x", "x 1", "1\nx", "x\n1", "99\nx", "x\n99", "x\n\ny", "x\ty", " x ", "null", "true", `"x"`, `x"y`, `x'y`, `x\y`,
	`{"token":1}`, `{"token":99,"sequence":99}`, "token=1", "x&token=1", "<x/>", "%d", "%00", "é",
}

func valueIsNoMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	token := fence.Token(34)
	for _, value := range marked {
		s.write(claim(token), lock, value, admitted)
		s.read(unfenced, lock, value, admitted)
		s.write(claim(token-1), lock, "stale", fence.ErrStale)
		token += 2
	}
	return s.err
}

// words are what a mark, or a part of it, may be called beside its scope.
var words = []string{
	"mark", "marks", "token", "tokens", "fence", "fencing", "sequence", "lock", "locks", "meta",
	"seq", "shared", "hwm", "__fence__", "fencing-token",
}

// keyIsNoMark lets a store refuse a key, a key under a second lock, or a scope, but not as stale.
func keyIsNoMark(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(sub.numbered(claim(34), 34), lock, "kept", admitted)
	stale := claim(33)
	if !sub.NoShared {
		stale = shared(33) // which the exclusive mark refuses alone
		s.write(shared(36), lock, "kept", admitted)
	}
	for _, word := range words {
		for _, sep := range []string{":", "/", ".", "-", "_"} {
			for _, key := range []string{lock + sep + word, word + sep + lock} {
				s.refusable(opWrite, fence.Claim{Scope: lock2, Token: 5}, key)
				s.refusable(opDelete, fence.Claim{Scope: key, Token: 5}, key)
				s.write(stale, lock, "stale after a write and a delete of "+key, fence.ErrStale)
			}
		}
	}
	s.write(claim(36), lock, "new", admitted)
	return s.err
}

// refusable makes a request that may be refused, but not as stale, and reports whether it was done.
func (s *steps) refusable(op string, c fence.Claim, key string) (done bool) {
	if s.err != nil {
		return false
	}
	_, err := request(s.ctx, s.store, op, c, key)
	s.notStale(op, c, key, err)
	return err == nil
}

// refusableWrite is refusable with a value.
func (s *steps) refusableWrite(c fence.Claim, key, value string) {
	if s.err == nil {
		s.notStale(opWrite, c, key, s.store.Write(s.ctx, c, key, value))
	}
}

func (s *steps) notStale(op string, c fence.Claim, key string, err error) {
	switch {
	case errors.Is(err, ErrNotApplicable):
		s.err = err
	case errors.Is(err, fence.ErrStale):
		s.err = unwanted(fmt.Sprintf("%s %s with %s: got error %q, though the scope has no such mark", op, key, inWords(c), err), err)
	}
}

// refusedWriteIsNeverSeen has many read while others are refused. None of the requests waits for another one's end.
func refusedWriteIsNeverSeen(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	s.write(claim(34), lock, "kept", admitted)
	for round := range fewRaces {
		if s.err != nil {
			return s.err
		}
		stale := []string{opWrite, opDelete}[round%2]
		errs := make([]error, 2*raceOlder)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				one := steps{ctx: ctx, store: s.store}
				<-start
				switch {
				case i >= raceOlder:
					one.read(unfenced, lock, "kept", admitted)
				case stale == opWrite:
					one.write(claim(33), lock, "stale", fence.ErrStale)
				default:
					one.delete(claim(33), lock, fence.ErrStale)
				}
				errs[i] = one.err
			})
		}
		close(start)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("round %d: while others were refused: %w", round, err)
		}
	}
	return s.err
}

// manyKeys is more than a page of a list has, as stores show one.
const manyKeys = 1100

func scopeGuardsManyKeys(ctx context.Context, sub Subject) error {
	s := begin(ctx, sub.open)
	for i := range min(manyKeys, sub.marks()) { // one after the other, as all of them have one mark
		s.write(claim(33), fmt.Sprintf("key-%d", i), "old", admitted)
	}
	s.write(claim(34), "key-of-the-newest", "new", admitted)
	s.write(claim(33), "key-0", "stale", fence.ErrStale)
	s.write(claim(33), "key-of-the-oldest", "stale", fence.ErrStale)
	return s.err
}
