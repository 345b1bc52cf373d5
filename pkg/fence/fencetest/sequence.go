package fencetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/fencelab/fencelab/pkg/fence"
)

func sequenceOrders(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(33, 1), lock, "first", admitted)
	s.write(seq(33, 3), lock, "third", admitted)
	s.write(seq(33, 2), lock, "late retry of the second", fence.ErrStale)
	s.write(claim(33), lock, "no part in the order", admitted)
	s.write(seq(33, 2), lock, "another late retry", fence.ErrStale)
	s.read(unfenced, lock, "no part in the order", admitted)
	s.write(seq(33, 5), lock, "no part in the order", admitted) // a value that is there already counts as well
	s.write(seq(33, 4), lock, "late retry", fence.ErrStale)
	return s.err
}

func sequenceDropsDuplicates(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(33, 1), lock, "once", admitted)
	s.duplicate(opWrite, seq(33, 1), lock)
	s.read(unfenced, lock, "once", admitted)
	return s.err
}

// duplicate makes a request again. That its number was done is told as success or as ErrDuplicate, which is the store's choice.
func (s *steps) duplicate(op string, c fence.Claim, key string) {
	if s.err != nil {
		return
	}
	if _, err := request(s.ctx, s.store, op, c, key); err != nil && !errors.Is(err, fence.ErrDuplicate) {
		s.err = unwanted(fmt.Sprintf("a %s with %s, made again: got error %q, want success or ErrDuplicate", op, inWords(c), err), err)
	}
}

func sequenceEndsWithTenure(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(3, 41), lock, "older", admitted) // with the digits of the newest one
	s.write(seq(33, 7), lock, "old", admitted)
	s.write(seq(34, 1), lock, "new", admitted)
	s.read(unfenced, lock, "new", admitted)
	s.write(fence.Claim{Scope: lock2 + "3", Token: 5, Sequence: 1}, lock2+"3", "of another lock", admitted) // so are these
	s.write(fence.Claim{Scope: lock2, Token: 35, Sequence: 1}, lock2, "new", admitted)
	s.read(fence.Claim{Scope: lock2}, lock2, "new", admitted)
	return s.err
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
	for _, t := range append(telling(), math.MaxInt64) {
		n := int64(t)
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
	s.duplicate(opDelete, seq(33, 3), lock)
	s.read(unfenced, lock, "third", admitted)
	s.delete(seq(33, 5), lock, admitted)
	s.write(seq(33, 4), lock, "late retry", fence.ErrStale)
	s.read(unfenced, lock, "", admitted)
	s.delete(seq(33, high+3), lock, admitted)
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

func sequenceIsOneStep(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	return sequenceRace(ctx, s, s)
}

func processesShareTheSequenceStep(ctx context.Context, sub Subject) error {
	if sub.NoSequence {
		return fmt.Errorf("%w: the store ignores sequence numbers", ErrNotApplicable)
	}
	one, two, err := sub.beginTwo(ctx)
	if err != nil {
		return err
	}
	return sequenceRace(ctx, one, two)
}

// sequenceRace has numbered requests come at the same moment, over and over: a write, and either writes with lower numbers, or
// deletes with its own number, so that one of them all is done. What is there when the write is acknowledged must stay. In
// each third round the write begins a tenure, and the writes with lower numbers are of the tenure before.
func sequenceRace(ctx context.Context, one, two *steps) error {
	for round := range fewRaces {
		if err := cmp.Or(one.err, two.err); err != nil {
			return err
		}
		newest, twins := seq(fence.Token(33+round/3), int64(round+1)*(raceOlder+1)), round%2 > 0
		older := newest.Token
		if round%3 == 0 && !twins {
			older--
		}
		if err := sequenceRound(ctx, one.store, two.store, round/2, newest, older, twins); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		late := newest
		late.Sequence--
		two.write(late, lock, "late retry", fence.ErrStale)
		if twins {
			one, two = two, one
		}
	}
	return cmp.Or(one.err, two.err)
}

func sequenceRound(ctx context.Context, one, two Store, turn int, newest fence.Claim, olderToken fence.Token, twins bool) error {
	var seen string
	var first error
	var older [raceOlder]error
	atOnce(turn, raceOlder, func() {
		first = one.Write(ctx, newest, lock, fmt.Sprint(newest.Sequence))
		if first == nil || twins && errors.Is(first, fence.ErrDuplicate) {
			seen, _, first = one.Read(ctx, unfenced, lock)
		}
	}, func(i int) {
		c := newest
		c.Token = olderToken
		if twins {
			older[i] = two.Delete(ctx, c, lock)
			return
		}
		c.Sequence -= int64(i + 1)
		older[i] = two.Write(ctx, c, lock, fmt.Sprint(c.Sequence))
	})
	if first != nil {
		return fmt.Errorf("racing write with %s: %w", inWords(newest), first)
	}
	refusal := fence.ErrStale
	if twins {
		refusal = fence.ErrDuplicate
	}
	for _, err := range older {
		if err != nil && !errors.Is(err, refusal) {
			return fmt.Errorf("a request that raced the write with %s: %w", inWords(newest), err)
		}
	}
	last, _, err := one.Read(ctx, unfenced, lock)
	switch {
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case last != seen, !twins && last != fmt.Sprint(newest.Sequence):
		return fmt.Errorf("a write with %s was acknowledged, and then a request landed that is older, or has its number: %q became %q",
			inWords(newest), seen, last)
	}
	return nil
}
