package fence

import (
	"context"
	"slices"
	"sync"
)

// scope is the mark of a scope, and the queue of the operations that want to run
// under it. An operation has the scope from take to give.
type scope struct {
	mu      sync.Mutex // guards what follows; not held while an operation runs
	mark    Mark
	dropped bool // no longer counts: look the name up again
	taken   bool
	queue   []chan struct{} // of those who wait for their turn, which closes theirs
}

// told is the mark, that of before while an operation is under way: token and sequence
// change together.
func (s *scope) told() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mark
}

func (s *scope) set(m Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mark = m
}

// take waits until the scope is the caller's alone, or until ctx is done. Without a wait
// the caller has it, done or not.
func (s *scope) take(ctx context.Context) error {
	s.mu.Lock()
	if !s.taken {
		s.taken = true
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.queue = append(s.queue, turn)
	s.mu.Unlock()
	select {
	case <-turn:
	case <-ctx.Done():
		if s.leave(turn) {
			return ctx.Err()
		}
		// The turn came at the same moment.
	}
	if err := ctx.Err(); err != nil {
		s.give()
		return err
	}
	return nil
}

// leave gives up a place in the queue, and reports whether it was still there.
func (s *scope) leave(turn chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, turn)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	return true
}

// give lets the next one have the scope.
func (s *scope) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.taken, s.queue = false, nil
		return
	}
	close(s.queue[0])
	s.queue = s.queue[1:]
}
