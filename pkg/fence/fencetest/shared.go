package fencetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
)

func shared(t fence.Token) fence.Claim {
	return fence.Claim{Scope: lock, Token: t, Mode: fence.Shared}
}

func sharedClaimsShare(ctx context.Context, sub Subject) error {
	s, err := sub.beginShared(ctx)
	if err != nil {
		return err
	}
	s.write(claim(33), lock, "of a writer", admitted)
	s.read(shared(36), lock, "of a writer", admitted)
	s.read(shared(34), lock, "of a writer", admitted)
	s.write(shared(35), lock, "of one who shares", admitted)
	s.read(shared(36), lock, "of one who shares", admitted)
	s.delete(shared(34), lock, admitted)
	s.read(unfenced, lock, "", admitted)
	return s.err
}

func staleSharedRefused(ctx context.Context, sub Subject) error {
	s, err := sub.beginShared(ctx)
	if err != nil {
		return err
	}
	s.read(shared(33), lock, "", admitted)
	s.write(claim(35), lock, "new", admitted)
	s.write(shared(33), lock, "stale", fence.ErrStale)
	s.delete(shared(34), lock, fence.ErrStale)
	s.read(shared(34), lock, "", fence.ErrStale)
	s.read(shared(36), lock, "new", admitted)
	s.read(shared(34), lock, "", fence.ErrStale)
	return s.err
}

func sharedRaisesMark(ctx context.Context, sub Subject) error {
	for _, op := range []string{opRead, opWrite, opDelete} {
		s, err := sub.beginShared(ctx)
		if err != nil {
			return err
		}
		s.write(claim(33), lock, "old", admitted)
		s.request(op, shared(35), lock)
		s.write(claim(34), lock, "stale", fence.ErrStale)
		s.delete(claim(33), lock, fence.ErrStale)
		s.read(claim(34), lock, "", fence.ErrStale)
		s.write(claim(36), lock, "new", admitted)
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

func sharedMarkStays(ctx context.Context, sub Subject) error {
	s, err := sub.beginShared(ctx)
	if err != nil {
		return err
	}
	s.read(shared(36), lock, "", admitted)
	s.read(shared(34), lock, "", admitted)
	s.write(claim(35), lock, "stale", fence.ErrStale)
	s.write(claim(36), lock, "new", admitted)
	return s.err
}

func sharedMarkIsNoExclusiveOne(ctx context.Context, sub Subject) error {
	s, err := sub.beginShared(ctx)
	if err != nil {
		return err
	}
	s.write(claim(33), lock, "kept", admitted)
	s.read(shared(36), lock, "kept", admitted)
	s.write(claim(35), lock, "stale", fence.ErrStale)
	s.read(shared(34), lock, "kept", admitted)
	s.read(shared(32), lock, "", fence.ErrStale)
	return s.err
}

func sharedHasNoSequence(ctx context.Context, sub Subject) error {
	s, err := sub.beginShared(ctx)
	if err != nil {
		return err
	}
	if sub.NoSequence {
		return fmt.Errorf("%w: the store ignores sequence numbers", ErrNotApplicable)
	}
	numbered := shared(34)
	numbered.Sequence = 1
	s.write(claim(33), lock, "kept", admitted)
	s.write(numbered, lock, "numbered", fence.ErrInvalidSequence)
	s.read(unfenced, lock, "kept", admitted)
	s.delete(numbered, lock, fence.ErrInvalidSequence)
	s.read(unfenced, lock, "kept", admitted)
	s.write(claim(33), lock, "no mark was raised", admitted)
	return s.err
}

func sequenceOutlivesShared(ctx context.Context, sub Subject) error {
	if sub.NoSequence {
		return fmt.Errorf("%w: the store ignores sequence numbers", ErrNotApplicable)
	}
	for _, op := range []string{opRead, opWrite, opDelete} {
		s, err := sub.beginShared(ctx)
		if err != nil {
			return err
		}
		s.write(seq(33, 3), lock, "third", admitted)
		s.request(op, shared(33), lock)
		s.write(seq(33, 2), lock, "late retry", fence.ErrStale)
		s.write(seq(33, 4), lock, "fourth", admitted)
		s.read(unfenced, lock, "fourth", admitted)
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

func sharedIsOneStep(ctx context.Context, sub Subject) error {
	if sub.NoShared {
		return fmt.Errorf("%w: the store knows no shared claims", ErrNotApplicable)
	}
	return sub.run(ctx,
		race{newest: opRead, newestMode: fence.Shared, older: opWrite},
		race{newest: opWrite, older: opWrite, olderMode: fence.Shared},
		race{newest: opWrite, older: opRead, olderMode: fence.Shared},
		race{newest: opRead, newestMode: fence.Shared, older: opDelete},
		race{newest: opRead, newestMode: fence.Shared, older: opRead, olderMode: fence.Shared},
		race{newest: opWrite, older: opDelete, olderMode: fence.Shared},
		race{newest: opWrite, newestMode: fence.Shared, older: opWrite},
		race{newest: opDelete, newestMode: fence.Shared, older: opWrite},
		race{newest: opRead, older: opWrite, olderMode: fence.Shared})
}

func firstSharedClaimsAreOneStep(ctx context.Context, sub Subject) error {
	if sub.NoShared {
		return fmt.Errorf("%w: the store knows no shared claims", ErrNotApplicable)
	}
	return sub.runRounds(ctx, fewRaces,
		race{newest: opRead, newestMode: fence.Shared, older: opWrite, first: true},
		race{newest: opWrite, older: opWrite, olderMode: fence.Shared, first: true},
		race{newest: opWrite, older: opDelete, olderMode: fence.Shared, first: true},
		race{newest: opWrite, older: opRead, olderMode: fence.Shared, first: true},
		race{newest: opRead, newestMode: fence.Shared, older: opRead, olderMode: fence.Shared, first: true})
}

func processesShareTheSharedStep(ctx context.Context, sub Subject) error {
	if sub.NoShared {
		return fmt.Errorf("%w: the store knows no shared claims", ErrNotApplicable)
	}
	return sub.runRounds(ctx, fewRaces,
		race{newest: opRead, newestMode: fence.Shared, older: opWrite, processes: true},
		race{newest: opWrite, older: opWrite, olderMode: fence.Shared, processes: true},
		race{newest: opWrite, older: opRead, olderMode: fence.Shared, processes: true},
		race{newest: opRead, newestMode: fence.Shared, older: opRead, olderMode: fence.Shared, processes: true},
		race{newest: opRead, newestMode: fence.Shared, older: opDelete, processes: true},
		race{newest: opWrite, older: opDelete, olderMode: fence.Shared, processes: true},
		race{newest: opWrite, newestMode: fence.Shared, older: opWrite, processes: true},
		race{newest: opDelete, newestMode: fence.Shared, older: opWrite, processes: true},
		race{newest: opRead, newestMode: fence.Shared, older: opRead, olderMode: fence.Shared, first: true, processes: true})
}

func restartKeepsBothMarks(ctx context.Context, sub Subject) error {
	s, err := sub.beginShared(ctx)
	if err != nil {
		return err
	}
	if sub.Restart == nil {
		return fmt.Errorf("%w: the store loses its data with the process", ErrNotApplicable)
	}
	s.write(claim(high+2), lock, "kept", admitted)
	s.read(shared(high+5), lock, "kept", admitted)
	for range restarts {
		s.restart(sub)
		s.write(claim(high+4), lock, "stale", fence.ErrStale)
		s.read(shared(high+1), lock, "", fence.ErrStale)
		s.read(shared(high+3), lock, "kept", admitted)
	}
	return s.err
}

func processesShareBothMarks(ctx context.Context, sub Subject) error {
	one, err := sub.beginShared(ctx)
	if err != nil {
		return err
	}
	two, err := sub.beginSecond(ctx, one)
	if err != nil {
		return err
	}
	one.read(shared(34), lock, "", admitted)
	two.write(claim(33), lock, "stale", fence.ErrStale)
	two.write(claim(35), lock, "new", admitted)
	one.read(shared(34), lock, "", fence.ErrStale)
	two.read(shared(37), lock, "new", admitted)
	one.read(shared(36), lock, "new", admitted)
	one.write(claim(36), lock, "stale", fence.ErrStale)
	return errors.Join(one.err, two.err)
}

func sharedAheadRefused(ctx context.Context, sub Subject) error {
	if sub.NoShared {
		return fmt.Errorf("%w: the store knows no shared claims", ErrNotApplicable)
	}
	s, err := sub.beginBounded(ctx)
	if err != nil {
		return err
	}
	s.read(shared(41), lock, "", fence.ErrAhead)
	s.write(shared(41), lock, "ahead", fence.ErrAhead)
	s.delete(shared(41), lock, fence.ErrAhead)
	s.read(shared(40), lock, "", admitted)
	s.write(claim(40), lock, "the highest issued", admitted)
	return s.err
}
