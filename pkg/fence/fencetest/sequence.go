package fencetest

import (
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
	return s.err
}

func sequenceDropsDuplicates(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(33, 1), lock, "once", admitted)
	if s.err != nil {
		return s.err
	}
	// That it is told, as success or as ErrDuplicate, is the store's choice.
	if err := s.store.Write(ctx, seq(33, 1), lock, "twice"); err != nil && !errors.Is(err, fence.ErrDuplicate) {
		return unwanted(fmt.Sprintf("a duplicate: got error %q, want success or ErrDuplicate", err), err)
	}
	s.read(unfenced, lock, "once", admitted)
	return s.err
}

func sequenceEndsWithTenure(ctx context.Context, sub Subject) error {
	s, err := sub.beginSequence(ctx)
	if err != nil {
		return err
	}
	s.write(seq(33, 7), lock, "old", admitted)
	s.write(seq(34, 1), lock, "new", admitted)
	s.read(unfenced, lock, "new", admitted)
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
