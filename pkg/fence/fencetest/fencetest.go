// Package fencetest holds the laws that every fenced store obeys, as checks
// that anyone can run on a store of their own:
//
//	func TestLaws(t *testing.T) {
//		fencetest.Run(t, fencetest.Subject{Open: openMyStore})
//	}
//
// What a store can do beyond that the Subject says, and what it leaves out is left
// out of the laws, and told.
//
// A check returns an error instead of failing a test, so that the suite itself
// can be tested: it lives beside stores that are broken in known ways and must
// be caught.
package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Store is the store under test: keys with values, guarded by claims. An error
// that is a refusal must match fence.ErrStale (as a *fence.StaleError),
// fence.ErrNoToken, fence.ErrInvalidToken, fence.ErrInvalidSequence or
// fence.ErrAhead.
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
	// Second opens the data of s a second time, as another process would, while s
	// goes on. Nil: no second process can open the data.
	Second func(ctx context.Context, s Store) (Store, error)
	// Fail is Write whose operation fails when value is already at key, as far as
	// the store's user can bring that about, and returns the error. Nil: nothing
	// can fail once it is admitted.
	Fail func(ctx context.Context, s Store, c fence.Claim, key, value string) error
	// NoSequence: the store ignores sequence numbers.
	NoSequence bool
	// NoShared: the store knows no shared claims. It must refuse them, or take them
	// for exclusive ones.
	NoShared bool
	// Terse: a stale refusal says no more than that the claim is stale.
	Terse bool
	// Again reports whether an error of the store says no more than that the
	// request is to be made again, such as a serialization failure. The checks then
	// do so, some times. Nil: no error says that.
	Again func(error) bool
	// MaxScope is the longest scope that the store takes, in bytes. 0: 1000.
	MaxScope int
	// Marks is how many scopes the store is shown at a time. 0: 2000.
	Marks int
	// Idle is for how long a check leaves marks alone, before it looks whether they
	// are still there: longer than what the store keeps for a while only. 0: 1 s.
	Idle time.Duration
}

const (
	defaultMaxScope = 1000
	defaultMarks    = 2000
	defaultIdle     = time.Second
)

// ErrNotApplicable is what a check returns where the Subject cannot do what the
// law is about. A Store returns it for a request that it has no way to make.
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
	{"CheckAndDeleteAreOneStep", "Nor between the check and the delete.", checkAndDeleteAreOneStep},
	{"CheckAndReadAreOneStep", "What a read with a token returns is there until its tenure, or a later one, changes it.", checkAndReadAreOneStep},
	{"ScopeIsOneStep", "Check and operation are one step for all keys of the scope, and not for each key.", scopeIsOneStep},
	{"FirstClaimsAreOneStep", "Also in a scope that nobody has claimed before.", firstClaimsAreOneStep},
	{"NewerTokenReplaces", "A token higher than the mark begins a new tenure and replaces what an older one wrote.", newerTokenReplaces},
	{"EqualTokenAdmitted", "Equal tokens are one tenure: a holder may write as often as it likes.", equalTokenAdmitted},
	{"SequenceOrders", "Within a tenure a request with a lower sequence number than one that was done is stale.", sequenceOrders},
	{"SequenceDropsDuplicates", "Within a tenure a request with the sequence number of one that was done is not done again.", sequenceDropsDuplicates},
	{"SequenceEndsWithTenure", "The next tenure counts its requests from the start.", sequenceEndsWithTenure},
	{"SequenceIsOfTheTenure", "The sequence is that of all requests of a tenure, whichever keys they are about.", sequenceIsOfTheTenure},
	{"SequenceHas64Bits", "Sequence numbers up to 2^63-1 are told apart.", sequenceHas64Bits},
	{"SequenceOrdersDeletes", "A delete has its place in the sequence, as a write has.", sequenceOrdersDeletes},
	{"SequenceOutlivesOthers", "A request without a sequence number leaves the order as it is.", sequenceOutlivesOthers},
	{"DeleteRaisesMark", "A delete raises the mark as a write does, also where there is nothing to delete.", deleteRaisesMark},
	{"DeleteKeepsMark", "Deleting a key does not lower the mark: a stale write cannot bring the key back.", deleteKeepsMark},
	{"RestartKeepsMark", "Neither does a crash and restart.", restartKeepsMark},
	{"RestartKeepsEveryMark", "Also not where a read or a delete came last.", restartKeepsEveryMark},
	{"RestartKeepsManyMarks", "Also not where there were many requests, be the keys there or deleted.", restartKeepsManyMarks},
	{"ManyMarksStay", "A mark is not dropped because there are many, and scopes share none.", manyMarksStay},
	{"TimeKeepsMark", "Nor because it is old, be its key there or deleted.", timeKeepsMark},
	{"ProcessesShareMarks", "Two processes that work on the same data judge by the same marks.", processesShareMarks},
	{"ProcessesShareTheStep", "And nothing of one comes between the other's check and write.", processesShareTheStep},
	{"RefusalKeepsMark", "A refused request neither lowers the mark nor raises it.", refusalKeepsMark},
	{"RefusalChangesNothing", "A refused request changes neither data nor mark, whatever the reason.", refusalChangesNothing},
	{"FailureKeepsMark", "Where something remains of an operation that failed, its mark remains too; its sequence number may be used again.", failureKeepsMark},
	{"MissingTokenRefused", "A write or delete without a token is refused, never given a default.", missingTokenRefused},
	{"ReadRaisesMark", "A read that carries a token raises the mark, so that no older write lands after it.", readRaisesMark},
	{"UnfencedReadAllowed", "A read may come without a token, and leaves the mark as it is.", unfencedReadAllowed},
	{"InvalidTokenRefused", "A token under 1 is refused.", invalidTokenRefused},
	{"TokensCompareAsNumbers", "Tokens are compared as numbers of 64 bits, not as text and not by their last bits.", tokensCompareAsNumbers},
	{"LargestTokenAdmitted", "Tokens up to 2^63-1 are told apart, also above 2^53 where floats cannot.", largestTokenAdmitted},
	{"AheadRefused", "A token beyond what the issuer can have given out is refused, and locks nobody out.", aheadRefused},
	{"ScopeGuardsAllItsKeys", "The mark belongs to the lock: a new tenure's write of one key closes all keys of the scope.", scopeGuardsAllItsKeys},
	{"ScopesAreIndependent", "Tokens of two locks are not compared.", scopesAreIndependent},
	{"ScopesAreNotConfused", "Two names are two locks, also where they differ in case, in a slash or in their last byte.", scopesAreNotConfused},
	{"ScopeAndKeyAreApart", "Where a scope ends and a key begins is not lost.", scopeAndKeyAreApart},
	{"SharedClaimsShare", "A shared claim is admitted whatever other shared claims were, newer or older.", sharedClaimsShare},
	{"StaleSharedRefused", "A shared claim whose token is lower than the highest exclusive one is never admitted.", staleSharedRefused},
	{"SharedRaisesMark", "An exclusive claim whose token is lower than the highest shared one is never admitted.", sharedRaisesMark},
	{"SharedMarkStays", "A shared claim that is older than another one does not lower the mark.", sharedMarkStays},
	{"SharedMarkIsNoExclusiveOne", "An exclusive claim that is refused, and a shared one that is admitted, leave the exclusive mark as it is.", sharedMarkIsNoExclusiveOne},
	{"SharedHasNoSequence", "A write or delete by a shared claim with a sequence number is refused.", sharedHasNoSequence},
	{"SharedIsOneStep", "Check and operation are one step for shared claims, too.", sharedIsOneStep},
	{"RestartKeepsBothMarks", "A crash and restart keeps the marks of both modes apart.", restartKeepsBothMarks},
	{"ProcessesShareBothMarks", "Two processes that work on the same data judge by the same marks of both modes.", processesShareBothMarks},
	{"SharedAheadRefused", "A shared token beyond what the issuer can have given out is refused, too.", sharedAheadRefused},
	{"RefusalNamesTheMode", "A stale refusal names the mark that refused, and its mode.", refusalNamesTheMode},
	{"RefusalNamesBothTokens", "A stale refusal names the scope, the token given and the mark.", refusalNamesBothTokens},
}

// Run checks all laws, one subtest each. It logs what the subject says of itself,
// and which laws were left out for it.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Logf("the store, by its own account: %s", s)
	for _, law := range Laws {
		var left error
		t.Run(law.Name, func(t *testing.T) {
			switch err := law.Check(t.Context(), s); {
			case errors.Is(err, ErrNotApplicable):
				left = err
				t.Skip(err)
			case err != nil:
				t.Fatalf("%s\n%v", law.Doc, err)
			}
		})
		if left != nil {
			t.Logf("left out: %s: %v", law.Name, left)
		}
	}
}

// String is what the subject says of itself.
func (s Subject) String() string {
	var says []string
	say := func(is bool, yes, no string) {
		if !is {
			yes = no
		}
		says = append(says, yes)
	}
	say(s.Restart != nil, "outlives its process", "goes with its process")
	say(s.Second != nil, "several processes", "one process")
	say(s.OpenBounded != nil, "knows a bound", "knows no bound")
	say(s.Fail != nil, "operations can fail half done", "operations do not fail half done")
	say(!s.NoSequence, "sequence numbers", "no sequence numbers")
	say(!s.NoShared, "shared claims", "no shared claims")
	say(!s.Terse, "refusals that name the mark", "refusals that name no mark")
	say(s.Again != nil, "may want a request again", "wants no request again")
	return strings.Join(says, ", ")
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

// beginSequence is begin for a law about sequence numbers.
func (sub Subject) beginSequence(ctx context.Context) (*steps, error) {
	if sub.NoSequence {
		return nil, fmt.Errorf("%w: the store ignores sequence numbers", ErrNotApplicable)
	}
	return begin(ctx, sub.open), nil
}

// beginTelling is begin for a law about what a stale refusal names.
func (sub Subject) beginTelling(ctx context.Context) (*steps, error) {
	if sub.Terse {
		return nil, fmt.Errorf("%w: a stale refusal names no mark", ErrNotApplicable)
	}
	return begin(ctx, sub.open), nil
}

// beginBounded is begin for a law about tokens that were not issued: those over 40.
func (sub Subject) beginBounded(ctx context.Context) (*steps, error) {
	if sub.OpenBounded == nil {
		return nil, fmt.Errorf("%w: the store knows no bound", ErrNotApplicable)
	}
	return begin(ctx, func(ctx context.Context) (Store, error) { return sub.patient(sub.OpenBounded(ctx, 40)) }), nil
}

// beginShared is begin for a law about shared claims.
func (sub Subject) beginShared(ctx context.Context) (*steps, error) {
	if sub.NoShared {
		return nil, fmt.Errorf("%w: the store knows no shared claims", ErrNotApplicable)
	}
	return begin(ctx, sub.open), nil
}

// restart crashes the store and goes on with what is left.
func (s *steps) restart(sub Subject) {
	if s.err != nil {
		return
	}
	if s.store, s.err = sub.restart(s.ctx, s.store); s.err != nil {
		s.err = fmt.Errorf("restart: %w", s.err)
	}
}

// The outcomes that a step can want besides a refusal's error.
var admitted error

func (s *steps) write(c fence.Claim, key, value string, want error) {
	if s.err == nil {
		s.judge(fmt.Sprintf("write %s=%s with %s", key, value, inWords(c)), s.store.Write(s.ctx, c, key, value), want)
	}
}

func (s *steps) delete(c fence.Claim, key string, want error) {
	if s.err == nil {
		s.judge(fmt.Sprintf("delete %s with %s", key, inWords(c)), s.store.Delete(s.ctx, c, key), want)
	}
}

// read wants the value, or no value where it is empty.
func (s *steps) read(c fence.Claim, key, value string, want error) {
	if s.err != nil {
		return
	}
	got, ok, err := s.store.Read(s.ctx, c, key)
	what := fmt.Sprintf("read %s with %s", key, inWords(c))
	s.judge(what, err, want)
	if s.err == nil && err == nil && (got != value || ok != (value != "")) {
		s.err = fmt.Errorf("%s: got %q (there: %v), want %q", what, got, ok, value)
	}
}

// inWords is a claim for people.
func inWords(c fence.Claim) string {
	text := fmt.Sprintf("token %d in the scope %s", c.Token, c.Scope)
	if c.Token == 0 {
		text = "no token in the scope " + c.Scope
	}
	if c.Sequence != 0 {
		text += fmt.Sprintf(", sequence %d", c.Sequence)
	}
	if c.Mode != fence.Exclusive {
		text += ", " + c.Mode.String()
	}
	return text
}

func (s *steps) judge(what string, got, want error) {
	switch {
	case errors.Is(got, ErrNotApplicable):
		s.err = got
	case want == nil && got != nil:
		s.err = unwanted(fmt.Sprintf("%s: got error %q, want it admitted", what, got), got)
	case want != nil && got == nil:
		s.err = fmt.Errorf("%s: was admitted, want refusal %q", what, want)
	case want != nil && !errors.Is(got, want):
		s.err = unwanted(fmt.Sprintf("%s: got error %q, want refusal %q", what, got, want), got)
	}
}

// unwanted is an error with a text of its own that wraps what the store said.
func unwanted(text string, got error) error { return &unwantedError{text, got} }

type unwantedError struct {
	text string
	got  error
}

func (e *unwantedError) Error() string { return e.text }
func (e *unwantedError) Unwrap() error { return e.got }
