// Package fencetest holds the laws that every fenced store obeys, as checks
// that anyone can run on a store of their own:
//
//	func TestLaws(t *testing.T) {
//		fencetest.Run(t, fencetest.Subject{Open: openMyStore})
//	}
//
// A check returns an error instead of failing a test, so that the suite itself
// can be tested: it lives beside stores that are broken in known ways and must
// be caught.
package fencetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Store is the store under test: keys with values, guarded by claims. An error
// that is a refusal must match fence.ErrStale (as a *fence.StaleError),
// fence.ErrNoToken, fence.ErrInvalidToken or fence.ErrAhead.
type Store interface {
	// Write stores value at key, if c is admitted.
	Write(ctx context.Context, c fence.Claim, key, value string) error
	// Delete removes key, if c is admitted. A key that is not there is no error.
	Delete(ctx context.Context, c fence.Claim, key string) error
	// Read returns the value at key, and whether there is one. A claim without
	// a token is not checked; one with a token is, and raises the mark.
	Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error)
}

// Subject says how to come by the store under test, and what it can do.
type Subject struct {
	// Open returns an empty store that knows no marks. Each check opens its own.
	Open func(ctx context.Context) (Store, error)
	// Restart ends a store as a crash would and opens it again on what it had
	// made durable. Nil: the store loses its data with the process.
	Restart func(ctx context.Context, s Store) (Store, error)
	// OpenBounded returns an empty store whose issuer has given out no token
	// over bound. Nil: the store knows no bound.
	OpenBounded func(ctx context.Context, bound fence.Token) (Store, error)
	// Fail is Write whose operation fails when value is already at key, as far as
	// the store's user can bring that about, and returns the error. Nil: nothing
	// can fail once it is admitted.
	Fail func(ctx context.Context, s Store, c fence.Claim, key, value string) error
	// NoSequence: the store ignores sequence numbers.
	NoSequence bool
}

// ErrNotApplicable is what a check returns where the Subject cannot do what the
// law is about.
var ErrNotApplicable = errors.New("fencetest: not applicable")

// Law is one law of a fenced store and its check.
type Law struct {
	Name  string
	Doc   string // the law, in a sentence
	Check func(ctx context.Context, s Subject) error
}

// Laws are all laws of a fenced store.
var Laws = []Law{
	{"StaleWriteRefused", "A write whose token is lower than the scope's mark is never admitted.", staleWriteRefused},
	{"StaleDeleteRefused", "Nor is such a delete.", staleDeleteRefused},
	{"StaleReadRefused", "Nor is such a read.", staleReadRefused},
	{"CheckAndWriteAreOneStep", "Between the check of a token and the write no other write comes.", checkAndWriteAreOneStep},
	{"NewerTokenReplaces", "A token higher than the mark begins a new tenure and replaces what an older one wrote.", newerTokenReplaces},
	{"EqualTokenAdmitted", "Equal tokens are one tenure: a holder may write as often as it likes.", equalTokenAdmitted},
	{"SequenceOrders", "Within a tenure a request with a lower sequence number than one that was done is stale.", sequenceOrders},
	{"SequenceDropsDuplicates", "Within a tenure a request with the sequence number of one that was done is not done again.", sequenceDropsDuplicates},
	{"SequenceEndsWithTenure", "The next tenure counts its requests from the start.", sequenceEndsWithTenure},
	{"DeleteKeepsMark", "Deleting a key does not lower the mark: a stale write cannot bring the key back.", deleteKeepsMark},
	{"RestartKeepsMark", "Neither does a crash and restart.", restartKeepsMark},
	{"RefusalChangesNothing", "A refused request changes neither data nor mark, whatever the reason.", refusalChangesNothing},
	{"FailureKeepsMark", "Where something remains of an operation that failed, its mark remains too; its sequence number may be used again.", failureKeepsMark},
	{"MissingTokenRefused", "A write or delete without a token is refused, never given a default.", missingTokenRefused},
	{"ReadRaisesMark", "A read that carries a token raises the mark, so that no older write lands after it.", readRaisesMark},
	{"UnfencedReadAllowed", "A read may come without a token, and raises nothing.", unfencedReadAllowed},
	{"InvalidTokenRefused", "A token under 1 is refused.", invalidTokenRefused},
	{"LargestTokenAdmitted", "Tokens up to 2^63-1 are told apart, also above 2^53 where floats cannot.", largestTokenAdmitted},
	{"AheadRefused", "A token beyond what the issuer can have given out is refused, and locks nobody out.", aheadRefused},
	{"ScopeGuardsAllItsKeys", "The mark belongs to the lock: a new tenure's write of one key closes all keys of the scope.", scopeGuardsAllItsKeys},
	{"ScopesAreIndependent", "Tokens of two locks are not compared.", scopesAreIndependent},
	{"RefusalNamesBothTokens", "A stale refusal names the scope, the token given and the mark.", refusalNamesBothTokens},
}

// Run checks all laws, one subtest each.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for _, law := range Laws {
		t.Run(law.Name, func(t *testing.T) {
			switch err := law.Check(t.Context(), s); {
			case errors.Is(err, ErrNotApplicable):
				t.Skip(err)
			case err != nil:
				t.Fatalf("%s\n%v", law.Doc, err)
			}
		})
	}
}

// steps runs a list of requests in order against one store and stops at the
// first that does not come out as it must.
type steps struct {
	ctx   context.Context
	store Store
	err   error
}

func begin(ctx context.Context, open func(context.Context) (Store, error)) *steps {
	store, err := open(ctx)
	if err != nil {
		err = fmt.Errorf("open: %w", err)
	}
	return &steps{ctx: ctx, store: store, err: err}
}

// The outcomes that a step can want besides a refusal's error.
var admitted error

func (s *steps) write(c fence.Claim, key, value string, want error) {
	if s.err == nil {
		s.judge(fmt.Sprintf("write %s=%s with %+v", key, value, c), s.store.Write(s.ctx, c, key, value), want)
	}
}

func (s *steps) delete(c fence.Claim, key string, want error) {
	if s.err == nil {
		s.judge(fmt.Sprintf("delete %s with %+v", key, c), s.store.Delete(s.ctx, c, key), want)
	}
}

// read wants the value, or no value where it is empty.
func (s *steps) read(c fence.Claim, key, value string, want error) {
	if s.err != nil {
		return
	}
	got, ok, err := s.store.Read(s.ctx, c, key)
	what := fmt.Sprintf("read %s with %+v", key, c)
	s.judge(what, err, want)
	if s.err == nil && err == nil && (got != value || ok != (value != "")) {
		s.err = fmt.Errorf("%s: got %q (there: %v), want %q", what, got, ok, value)
	}
}

func (s *steps) judge(what string, got, want error) {
	switch {
	case want == nil && got != nil:
		s.err = fmt.Errorf("%s: got error %q, want it admitted", what, got)
	case want != nil && got == nil:
		s.err = fmt.Errorf("%s: was admitted, want refusal %q", what, want)
	case want != nil && !errors.Is(got, want):
		s.err = fmt.Errorf("%s: got error %q, want refusal %q", what, got, want)
	}
}
