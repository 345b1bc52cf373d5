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
	// NoSequence: the store ignores sequence numbers. The checks give none.
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
	// Crowd is how many write at the same moment. 0: 32.
	Crowd int
	// Prepare does a Write up to its last bit, and finish does the rest, so that many
	// writes of a crowd are under way. Nil: a Write is done as one.
	Prepare func(ctx context.Context, s Store, c fence.Claim, key, value string) (finish func() error, err error)
	// Idle is for how long a check leaves marks alone, before it looks whether they
	// are still there: longer than what the store keeps for a while only. 0: 6 s.
	Idle time.Duration
}

const (
	defaultMaxScope = 1000
	defaultMarks    = 2000
	defaultCrowd    = 32
	defaultIdle     = 6 * time.Second
)

// ErrNotApplicable is what a check returns where the Subject cannot do what the
// law is about. A Store returns it for a request that it has no way to make.
var ErrNotApplicable = errors.New("fencetest: not applicable")

// Law is one law of a fenced store and its check.
type Law struct {
	Name  string
	Doc   string // the law, in a sentence
	Check func(ctx context.Context, s Subject) error
	Waits bool // for Subject.Idle; Run leaves the law out where tests are short
}

// Laws are all laws of a fenced store. Those by which many others break come first.
var Laws = []Law{
	{Name: "StaleWriteRefused", Doc: "A write whose token is lower than the scope's mark is never admitted.", Check: staleWriteRefused},
	{Name: "StaleDeleteRefused", Doc: "A stale delete is refused.", Check: staleDeleteRefused},
	{Name: "StaleReadRefused", Doc: "A stale read is refused.", Check: staleReadRefused},
	{Name: "RefusedReadTellsNothing", Doc: "A read that is refused returns no data.", Check: refusedReadTellsNothing},
	{Name: "NewerTokenReplaces", Doc: "A token higher than the mark begins a new tenure and replaces what an older one wrote.", Check: newerTokenReplaces},
	{Name: "EqualTokenAdmitted", Doc: "Equal tokens are one tenure: a holder may write as often as it likes.", Check: equalTokenAdmitted},
	{Name: "TokensCompareAsNumbers", Doc: "Tokens are compared as numbers of 64 bits, not as text and not by their last bits.", Check: tokensCompareAsNumbers},
	{Name: "TokensOfAllCompareAsNumbers", Doc: "Be they of a write, a delete or a read, with a sequence number or shared.", Check: tokensOfAllCompareAsNumbers},
	{Name: "LargestTokenAdmitted", Doc: "Tokens up to 2^63-1 are told apart, also above 2^53 where floats cannot.", Check: largestTokenAdmitted},
	{Name: "MissingTokenRefused", Doc: "A write or delete without a token is refused, never given a default.", Check: missingTokenRefused},
	{Name: "InvalidTokenRefused", Doc: "A token under 1 is refused.", Check: invalidTokenRefused},
	{Name: "ScopeGuardsAllItsKeys", Doc: "The mark belongs to the lock: a new tenure's write of one key closes all keys of the scope.", Check: scopeGuardsAllItsKeys},
	{Name: "ScopeGuardsManyKeys", Doc: "Also where the scope has more keys than one list of a store shows.", Check: scopeGuardsManyKeys},
	{Name: "ScopesAreIndependent", Doc: "Tokens of two locks are not compared.", Check: scopesAreIndependent},
	{Name: "CheckAndWriteAreOneStep", Doc: "Between the check of a token and the write no other write comes.", Check: checkAndWriteAreOneStep},
	{Name: "CheckAndDeleteAreOneStep", Doc: "Nor between the check and the delete.", Check: checkAndDeleteAreOneStep},
	{Name: "CheckAndReadAreOneStep", Doc: "What a read with a token returns is there until its tenure, or a later one, changes it.", Check: checkAndReadAreOneStep},
	{Name: "CheckAndOlderReadAreOneStep", Doc: "A read that is admitted returns nothing that a later tenure wrote meanwhile, and lowers no mark.", Check: checkAndOlderReadAreOneStep},
	{Name: "ScopeIsOneStep", Doc: "Check and operation are one step for all keys of the scope, and not for each key.", Check: scopeIsOneStep},
	{Name: "FirstClaimsAreOneStep", Doc: "Also in a scope that nobody has claimed before.", Check: firstClaimsAreOneStep},
	{Name: "FirstClaimsOfAllAreOneStep", Doc: "Also where one of them is of a read or of a delete.", Check: firstClaimsOfAllAreOneStep},
	{Name: "CrowdIsOneStep", Doc: "Also where many write at the same moment.", Check: crowdIsOneStep},
	{Name: "CrowdOfAllIsOneStep", Doc: "And where many delete or read at the same moment.", Check: crowdOfAllIsOneStep},
	{Name: "SequenceOrders", Doc: "Within a tenure a request with a lower sequence number than one that was done is stale.", Check: sequenceOrders},
	{Name: "SequenceDropsDuplicates", Doc: "Within a tenure a request with the sequence number of one that was done is not done again.", Check: sequenceDropsDuplicates},
	{Name: "SequenceEndsWithTenure", Doc: "The next tenure counts its requests from the start, as the tenure of another lock does.", Check: sequenceEndsWithTenure},
	{Name: "SequenceIsOfTheTenure", Doc: "All requests of a tenure have one sequence, whichever keys they are about.", Check: sequenceIsOfTheTenure},
	{Name: "SequenceHas64Bits", Doc: "Sequence numbers up to 2^63-1 are told apart, and are compared as numbers.", Check: sequenceHas64Bits},
	{Name: "SequenceOrdersDeletes", Doc: "A delete has its place in the sequence, as a write has.", Check: sequenceOrdersDeletes},
	{Name: "SequenceOutlivesOthers", Doc: "A request without a sequence number leaves the order as it is.", Check: sequenceOutlivesOthers},
	{Name: "SequenceOutlivesShared", Doc: "A shared claim with the same token leaves the order as it is.", Check: sequenceOutlivesShared},
	{Name: "SequenceIsOneStep", Doc: "The check of a number and the operation are one step: one of two requests with the same number is done, and not both.", Check: sequenceIsOneStep},
	{Name: "InvalidSequenceRefused", Doc: "A sequence number under 0 is refused, and changes nothing.", Check: invalidSequenceRefused},
	{Name: "DeleteRaisesMark", Doc: "A delete raises the mark as a write does, also where there is nothing to delete.", Check: deleteRaisesMark},
	{Name: "DeleteKeepsMark", Doc: "Deleting a key does not lower the mark: a stale write cannot bring the key back.", Check: deleteKeepsMark},
	{Name: "RestartKeepsMark", Doc: "Neither does a crash and restart.", Check: restartKeepsMark},
	{Name: "RestartKeepsEveryMark", Doc: "Also not where a read or a delete came last, whatever the value is.", Check: restartKeepsEveryMark},
	{Name: "RestartKeepsManyMarks", Doc: "Also not where there were many requests, be the keys there or deleted.", Check: restartKeepsManyMarks},
	{Name: "RestartKeepsAnyOrder", Doc: "What RequestsInAnyOrder says holds across restarts.", Check: restartKeepsAnyOrder},
	{Name: "RestartKeepsScopesApart", Doc: "A crash and restart confuses no scopes, whatever they are called.", Check: restartKeepsScopesApart},
	{Name: "ManyMarksStay", Doc: "A mark is not dropped because there are many, and scopes share none, whichever process is asked.", Check: manyMarksStay},
	{Name: "MarksOfAllRequestsStay", Doc: "Be it of a write, of a delete or of a read.", Check: marksOfAllRequestsStay},
	{Name: "TimeKeepsMark", Doc: "Nor because it is old, be its key there or deleted, or read only. Time ends no tenure, either.", Check: timeKeepsMark, Waits: true},
	{Name: "ProcessesShareMarks", Doc: "Two processes that work on the same data judge by the same marks.", Check: processesShareMarks},
	{Name: "ProcessesShareTheStep", Doc: "And nothing of one comes between the other's check and write.", Check: processesShareTheStep},
	{Name: "ProcessesShareEveryStep", Doc: "Nor between the check and a delete or a read.", Check: processesShareEveryStep},
	{Name: "ProcessesShareEveryScopeStep", Doc: "All of this holds in a scope that nobody has claimed before, too, and for all keys of a scope.", Check: processesShareEveryScopeStep},
	{Name: "ProcessesShareTheSequenceStep", Doc: "It holds where sequence numbers order the requests, too.", Check: processesShareTheSequenceStep},
	{Name: "ProcessesShareTheSharedStep", Doc: "And where one of the claims, or each, is shared.", Check: processesShareTheSharedStep},
	{Name: "ProcessesShareAnyOrder", Doc: "What RequestsInAnyOrder says holds whichever process is asked.", Check: processesShareAnyOrder},
	{Name: "RefusalKeepsMark", Doc: "A refused request neither lowers the mark nor raises it.", Check: refusalKeepsMark},
	{Name: "RefusalChangesNothing", Doc: "A refused request changes neither data nor mark, whatever the reason.", Check: refusalChangesNothing},
	{Name: "RefusedWriteIsNeverSeen", Doc: "Nobody sees a refused change, not even for a moment.", Check: refusedWriteIsNeverSeen},
	{Name: "RefusalIsDefinite", Doc: "The error of a refusal has the outcome fence.Definite.", Check: refusalIsDefinite},
	{Name: "DoneContextDoesNothing", Doc: "A request whose context is done does nothing and returns an error, or is done as any other.", Check: doneContextDoesNothing},
	{Name: "EndingContextLeavesNoHalf", Doc: "A request whose context ends meanwhile leaves no data without its mark. Where its error is definite, it does nothing.", Check: endingContextLeavesNoHalf},
	{Name: "FailureKeepsMark", Doc: "Where something remains of an operation that failed, its mark remains too; its sequence number may be used again.", Check: failureKeepsMark},
	{Name: "ReadRaisesMark", Doc: "A read that carries a token raises the mark, so that no older write lands after it.", Check: readRaisesMark},
	{Name: "UnfencedReadAllowed", Doc: "A read may come without a token, and leaves the mark as it is.", Check: unfencedReadAllowed},
	{Name: "UnknownModeRefused", Doc: "A claim of a mode that the store does not know is refused, and changes nothing. A store without shared claims may take it for an exclusive one.", Check: unknownModeRefused},
	{Name: "AheadRefused", Doc: "A token beyond what the issuer can have given out is refused, and locks nobody out.", Check: aheadRefused},
	{Name: "AheadInAnyOrder", Doc: "Whatever was asked before, and whatever is asked for.", Check: aheadInAnyOrder},
	{Name: "ScopesAreNotConfused", Doc: "Two names are two locks, also where they differ in case, in a slash or in their last byte.", Check: scopesAreNotConfused},
	{Name: "OddScopesAreApart", Doc: "A scope with white space around it, a control character, bytes that are no UTF-8 or more bytes than the store takes is a scope of its own, or is refused with an error.", Check: oddScopesAreApart},
	{Name: "ScopesAreApartForAll", Doc: "Deletes and reads take a scope for the one for which writes take it.", Check: scopesAreApartForAll},
	{Name: "ScopeAndKeyAreApart", Doc: "Where a scope ends and a key begins is not lost.", Check: scopeAndKeyAreApart},
	{Name: "KeyHasNoMark", Doc: "A key under two locks has the marks of both, and each keeps its own, also over a restart.", Check: keyHasNoMark},
	{Name: "KeyIsNoMark", Doc: "No key and no scope is where the mark of another scope is kept, whatever it is called.", Check: keyIsNoMark},
	{Name: "ValueIsNoMark", Doc: "A value is no mark, whatever it looks like, and is read as it was written.", Check: valueIsNoMark},
	{Name: "SharedClaimsShare", Doc: "A shared claim is admitted whatever other shared claims were, newer or older.", Check: sharedClaimsShare},
	{Name: "StaleSharedRefused", Doc: "A shared claim whose token is lower than the highest exclusive one is never admitted.", Check: staleSharedRefused},
	{Name: "SharedRaisesMark", Doc: "An exclusive claim whose token is lower than the highest shared one is never admitted.", Check: sharedRaisesMark},
	{Name: "SharedMarkStays", Doc: "A shared claim that is older than another one does not lower the mark.", Check: sharedMarkStays},
	{Name: "SharedMarkIsNoExclusiveOne", Doc: "An exclusive claim that is refused, and a shared one that is admitted, leave the exclusive mark as it is.", Check: sharedMarkIsNoExclusiveOne},
	{Name: "SharedHasNoSequence", Doc: "A write or delete by a shared claim with a sequence number is refused.", Check: sharedHasNoSequence},
	{Name: "SharedIsOneStep", Doc: "Check and operation are one step for shared claims, too.", Check: sharedIsOneStep},
	{Name: "FirstSharedClaimsAreOneStep", Doc: "Also in a scope that nobody has claimed before.", Check: firstSharedClaimsAreOneStep},
	{Name: "RestartKeepsBothMarks", Doc: "A crash and restart keeps the marks of both modes apart.", Check: restartKeepsBothMarks},
	{Name: "ProcessesShareBothMarks", Doc: "Two processes that work on the same data judge by the same marks of both modes.", Check: processesShareBothMarks},
	{Name: "SharedAheadRefused", Doc: "A shared token beyond what the issuer can have given out is refused, too.", Check: sharedAheadRefused},
	{Name: "RefusalNamesTheMode", Doc: "A stale refusal names the mark that refused, and its mode.", Check: refusalNamesTheMode},
	{Name: "RefusalNamesBothTokens", Doc: "A stale refusal names the scope, the token given and the mark.", Check: refusalNamesBothTokens},
	{Name: "EveryRefusalNamesBothTokens", Doc: "The refusal of a delete or a read does so, too, and also where a delete or a read has raised the mark.", Check: everyRefusalNamesBothTokens},
	{Name: "RefusalNamesTheSequence", Doc: "A stale refusal within a tenure names both sequence numbers.", Check: refusalNamesTheSequence},
	{Name: "RequestsInAnyOrder", Doc: "Whatever requests come in whatever order, each is done or refused by the mark of its scope as fence.Mark.Admit says.", Check: requestsInAnyOrder},
}

// Run checks all laws, one subtest each. It logs what the subject says of itself,
// which laws were left out for it, and how long all of them took. With -short it
// leaves out the laws that wait.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Logf("the store, by its own account: %s", s)
	began, out := time.Now(), 0
	for _, law := range Laws {
		var left error
		t.Run(law.Name, func(t *testing.T) {
			err := error(errShort)
			if !law.Waits || !testing.Short() {
				err = law.Check(t.Context(), s)
			}
			switch {
			case errors.Is(err, ErrNotApplicable), errors.Is(err, errShort):
				left = err
				t.Skip(err)
			case err != nil:
				t.Fatalf("%s\n%v", law.Doc, err)
			}
		})
		if left != nil {
			out++
			t.Logf("left out: %s: %v", law.Name, left)
		}
	}
	t.Logf("%d laws took %v, %d left out", len(Laws)-out, time.Since(began).Round(time.Millisecond), out)
}

// errShort is why Run leaves out a law that waits.
var errShort = errors.New("fencetest: it waits for a while, and the tests are short")

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
