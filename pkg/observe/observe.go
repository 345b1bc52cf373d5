// Package observe has an observer of locks and fences that writes a log, by log/slog, and what
// it has in common with the observers that count and trace: those of the packages below.
//
//	log := observe.NewLog(slog.Default())
//	backend = lock.Observe(backend, log)
//	guard = fence.Watch(guard, log.Claim)
//
// docs/observe.md at the root of the repository says what to look at.
package observe

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Result is the end of an attempt, a renewal or a tenure in a word:
//
//	Granted, NotGranted      granted, locked, cancelled, unknown, failed
//	Renewed, RenewalFailed   renewed, failed
//	Lost, Released           released, unknown, lost, cut_off
//
// It is empty for Asked. Where the outcome is unknown the lock may stay taken for its TTL.
func Result(e lock.Event) string {
	var unknown *lock.UnknownError
	switch {
	case e.Kind == lock.RenewalFailed:
		return "failed"
	case e.Kind == lock.Lost && errors.Is(e.Err, lock.ErrCutOff):
		return "cut_off"
	case e.Kind == lock.Asked:
		return ""
	case e.Kind == lock.Lost || e.Err == nil:
		return e.Kind.String()
	case errors.As(e.Err, &unknown):
		return "unknown"
	case errors.Is(e.Err, lock.ErrLocked):
		return "locked"
	case errors.Is(e.Err, context.Canceled), errors.Is(e.Err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "failed"
}

// Judgement is what a Guard said of a claim in a word: admitted, stale, missing, invalid,
// ahead, duplicate, or other, where it had no bound or no room for a mark.
func Judgement(refused error) string {
	switch {
	case refused == nil:
		return "admitted"
	case errors.Is(refused, fence.ErrDuplicate):
		return "duplicate"
	}
	return cmp.Or(string(fencehttp.ReasonOf(refused)), "other")
}

// MaxScopes is how many scopes have a name of their own in metrics.
const MaxScopes = 100

// Scopes names the scopes in metrics, where each name costs memory. The zero value is ready to
// use.
type Scopes struct {
	mu    sync.Mutex
	named map[string]struct{}
}

// Name returns a scope, or "(other)", if MaxScopes were there before it.
func (s *Scopes) Name(scope string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.named[scope]; ok {
		return scope
	}
	if len(s.named) == MaxScopes {
		return "(other)"
	}
	if s.named == nil {
		s.named = make(map[string]struct{})
	}
	s.named[scope] = struct{}{}
	return scope
}
