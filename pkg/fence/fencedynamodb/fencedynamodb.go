// Package fencedynamodb keeps fencing marks in a table of DynamoDB, and raises them in the transactions that change the data.
//
//	store, err := fencedynamodb.New(ctx, client, "fence_marks")
//	…
//	err = store.Do(ctx, claim, func(context.Context) ([]types.TransactWriteItem, error) {
//		return []types.TransactWriteItem{{Update: markPaid}, {Put: invoice}}, nil
//	})
//
// A scope has an item in the table of marks, and its data are any items of any tables of the same account and region. A
// change is one TransactWriteItems of the caller's writes and a Put of the mark, on condition that the mark's item is as it
// was read. So check, mark and data of several items are one step. DynamoDB takes 100 writes in a transaction, and one of
// them is the mark's.
//
// # The table of marks
//
// Its partition key is a string, "scope"; it has no sort key:
//
//	aws dynamodb create-table --table-name fence_marks --billing-mode PAY_PER_REQUEST \
//		--attribute-definitions AttributeName=scope,AttributeType=S --key-schema AttributeName=scope,KeyType=HASH
//
// An item has the attributes token, sequence and shared, which are the mark, and changes, a number that grows with each
// change. A scope is text in UTF-8 of 2048 bytes at most. The client needs dynamodb:GetItem and dynamodb:PutItem on the
// table, and for New dynamodb:DescribeTable and dynamodb:DescribeTimeToLive.
//
// # What loses a mark
//
//   - A PutItem or a DeleteItem of the mark's item in another way: give the right to write to nobody else.
//   - A time to live: DynamoDB deletes what it takes for expired. New refuses a table that has one.
//   - A global table: a transaction is one step in its own region alone, and of two regions the last writer wins. New
//     refuses a table that has replicas.
//   - A table of marks from a backup: its marks are as old as the backup. Restore no table of marks without its data, and
//     end all holders before.
//
// A write of the data in another way, without Do, is not checked at all.
package fencedynamodb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/swap"
)

// Store is a table of marks. It has no state of its own: any number of them may stand before one table.
type Store struct {
	// Bound returns the highest token that the issuer can have given out for the claim's scope, as that of
	// fence.Register. Nil: no bound is known, and one huge token locks out all others.
	Bound func(fence.Claim) (fence.Token, error)

	client *dynamodb.Client
	table  string
}

// New returns a store in a table of marks, which has to be there. It refuses one that would lose marks by itself.
func New(ctx context.Context, client *dynamodb.Client, table string) (*Store, error) {
	if client == nil {
		return nil, fence.Definite.New("fencedynamodb: the client is nil")
	}
	s := &Store{client: client, table: table}
	if err := s.look(ctx); err != nil {
		return nil, fmt.Errorf("fencedynamodb: the table %s: %w", table, fence.Definite.Wrap(err))
	}
	return s, nil
}

var errZero = fence.Definite.New("fencedynamodb: this Store was not made by New")

// Do makes the writes that plan returns, if c is admitted, and raises the mark, in one step. None is a read, which raises
// the mark, too. Nothing that another Do of the scope writes comes between what plan reads and its writes. Have plan read by
// TransactGetItems: a GetItem may return an item as it was before a transaction, while the mark is there already.
//
// plan may be called again, where somebody has changed the scope meanwhile, or where its reads meet another transaction;
// its last call counts. Where plan fails otherwise, Do changes nothing and returns plan's error.
//
// With a refusal, as Mark.Admit of package fence has them, or with fence.ErrDuplicate, neither data nor mark has changed. A
// token beyond the bound is refused with a *fence.AheadError; where Bound returns an error, Do returns fence.ErrNoBound. A
// token that was admitted before was issued, whatever Bound says.
//
// Of every other error fence.OutcomeOf says what is known: Definite where nothing was done, else Unknown. Where a condition
// of plan's writes is not met, the error is Definite and wraps a *types.TransactionCanceledException, whose first reason is
// the mark's; those of the writes follow. Where DynamoDB limits the rate, the error is Definite, too: ask again later.
//
// Do sends each transaction once, whatever the client's Retryer says. If a second one is refused, the first one may still
// be on its way, and nobody could say that nothing was done. After Unknown ask again under the same sequence number. Do
// waits for an answer until ctx is done, or as long as the client's HTTPClient waits. If a proxy sends a transaction twice,
// DynamoDB does it once: it knows the second one by the ClientRequestToken that the client makes.
func (s *Store) Do(ctx context.Context, c fence.Claim, plan func(context.Context) ([]types.TransactWriteItem, error)) error {
	if s.client == nil {
		return errZero
	}
	if err := checkScope(c.Scope); err != nil {
		return err
	}
	if _, err := (fence.Mark{}).Admit(c); err != nil {
		return err
	}
	for {
		if err := s.attempt(ctx, c, plan); err != errMoved {
			return err
		}
		select {
		case <-time.After(rand.N(again)):
		case <-ctx.Done():
			return failed(c, fence.Definite.Wrap(fmt.Errorf("nothing was done: %w", ctx.Err())))
		}
	}
}

// again is how long a change waits at most that somebody else came before, so that those who change one scope do not meet
// again and again.
const again = 10 * time.Millisecond

// errMoved: the mark is not the one that was read, or another transaction has items of this one.
var errMoved = errors.New("the scope has changed")

// attempt is Do, if nobody changes the scope meanwhile.
func (s *Store) attempt(ctx context.Context, c fence.Claim, plan func(context.Context) ([]types.TransactWriteItem, error)) error {
	is, err := s.read(ctx, c.Scope)
	if err != nil {
		return failed(c, fence.Definite.Wrap(err))
	}
	now, err := swap.Admit(is.mark, c, s.Bound)
	if err != nil {
		return err
	}
	writes, err := plan(ctx)
	if isConflict(err) {
		return errMoved
	}
	if err != nil {
		return err
	}
	is.mark = now.Done(c)
	if err = s.write(ctx, c.Scope, is, writes); err == nil || err == errMoved {
		return err
	}
	return failed(c, err)
}

// failed says in which scope an error was.
func failed(c fence.Claim, err error) error {
	return fmt.Errorf("fencedynamodb: scope %q, token %d: %w", c.Scope, c.Token, err)
}

// Mark returns the mark of a scope. It shows no token and raises no mark.
func (s *Store) Mark(ctx context.Context, scope string) (fence.Mark, error) {
	if s.client == nil {
		return fence.Mark{}, errZero
	}
	if err := checkScope(scope); err != nil {
		return fence.Mark{}, err
	}
	is, err := s.read(ctx, scope)
	if err != nil {
		return fence.Mark{}, fmt.Errorf("fencedynamodb: scope %q: %w", scope, err)
	}
	return is.mark, nil
}
