package fencedynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencelab/fencelab/pkg/fence"
)

// longest is how many bytes a partition key has at most.
const longest = 2048

func checkScope(scope string) error {
	switch {
	case scope == "" || len(scope) > longest:
		return fmt.Errorf("%w: it has %d bytes, want 1 to %d", fence.ErrInvalidScope, len(scope), longest)
	case !utf8.ValidString(scope):
		return fmt.Errorf("%w: %.100q is no UTF-8, as a key of DynamoDB is", fence.ErrInvalidScope, scope)
	}
	return nil
}

// item is the item of a scope's mark. One that is not there has no changes.
type item struct {
	mark    fence.Mark
	changes int64
}

// The attributes of an item.
const (
	scopeKey = "scope"
	token    = "token"
	sequence = "sequence"
	shared   = "shared"
	changes  = "changes"
)

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func keyOf(scope string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{scopeKey: &types.AttributeValueMemberS{Value: scope}}
}

func (i item) attributes(scope string) map[string]types.AttributeValue {
	all := keyOf(scope)
	all[token] = number(int64(i.mark.Token))
	all[sequence] = number(i.mark.Sequence)
	all[shared] = number(int64(i.mark.Shared))
	all[changes] = number(i.changes)
	return all
}

func parse(attributes map[string]types.AttributeValue) (is item, err error) {
	if len(attributes) == 0 {
		return item{}, nil
	}
	for name, take := range map[string]func(int64){
		token:    func(n int64) { is.mark.Token = fence.Token(n) },
		sequence: func(n int64) { is.mark.Sequence = n },
		shared:   func(n int64) { is.mark.Shared = fence.Token(n) },
		changes:  func(n int64) { is.changes = n },
	} {
		digits := "none"
		if a, ok := attributes[name].(*types.AttributeValueMemberN); ok {
			digits = a.Value
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n == 0 && name == changes {
			return item{}, fence.Definite.New(fmt.Sprintf("its item has %s for the number %s, which is none of this package", digits, name))
		}
		take(n)
	}
	return is, nil
}

// read reads the item of a scope.
func (s *Store) read(ctx context.Context, scope string) (item, error) {
	got, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: keyOf(scope), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return item{}, err
	}
	return parse(got.Item)
}

// write makes the writes and puts the item of a scope, if the one that is there has as many changes. It asks once: of a
// request that was sent twice the last answer would not say what became of the first one.
func (s *Store) write(ctx context.Context, scope string, is item, writes []types.TransactWriteItem) error {
	put := &types.Put{TableName: &s.table}
	if is.changes == 0 {
		put.ConditionExpression = aws.String("attribute_not_exists(#is)")
		put.ExpressionAttributeNames = map[string]string{"#is": scopeKey}
	} else {
		put.ConditionExpression = aws.String("#is = :read")
		put.ExpressionAttributeNames = map[string]string{"#is": changes}
		put.ExpressionAttributeValues = map[string]types.AttributeValue{":read": number(is.changes)}
	}
	is.changes++
	put.Item = is.attributes(scope)
	all := append([]types.TransactWriteItem{{Put: put}}, writes...)
	_, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: all},
		func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	switch status := status(err); {
	case err == nil:
		return nil
	case isConflict(err), isMark(err):
		return errMoved
	case isUnderWay(err):
		return fence.Unknown.Wrap(err)
	case status >= http.StatusBadRequest && status < http.StatusInternalServerError:
		return fence.Definite.Wrap(err)
	}
	return fence.Unknown.Wrap(err)
}

// Why a transaction was not done, for each of its items.
const (
	none         = "None"
	notMet       = "ConditionalCheckFailed"
	withConflict = "TransactionConflict"
)

// reasons are those of a transaction that was not done; none: err says something else.
func reasons(err error) (codes []string) {
	var canceled *types.TransactionCanceledException
	if errors.As(err, &canceled) {
		for _, r := range canceled.CancellationReasons {
			codes = append(codes, aws.ToString(r.Code))
		}
	}
	return codes
}

// isMark reports whether the mark's condition was not met, whatever became of others.
func isMark(err error) bool {
	codes := reasons(err)
	return len(codes) > 0 && codes[0] == notMet
}

// isConflict reports whether a transaction was not done because of another one, and for no other reason.
func isConflict(err error) bool {
	is := false
	for _, code := range reasons(err) {
		if code != none && code != withConflict {
			return false
		}
		is = is || code == withConflict
	}
	return is
}

// isUnderWay reports whether a copy of the request is under way, which something has sent before.
func isUnderWay(err error) bool {
	var underWay *types.TransactionInProgressException
	return errors.As(err, &underWay)
}

// status is the status of an answer; 0: there was none.
func status(err error) int {
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

// look refuses a table that is no table of marks, or that loses them by itself.
func (s *Store) look(ctx context.Context) error {
	got, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table})
	if err != nil {
		return err
	}
	if keys := got.Table.KeySchema; len(keys) != 1 || aws.ToString(keys[0].AttributeName) != scopeKey {
		return errors.New("want the partition key scope, and no sort key")
	}
	for _, a := range got.Table.AttributeDefinitions {
		if aws.ToString(a.AttributeName) == scopeKey && a.AttributeType != types.ScalarAttributeTypeS {
			return fmt.Errorf("its partition key scope has the type %s, want S", a.AttributeType)
		}
	}
	if n := len(got.Table.Replicas); n > 0 {
		return fmt.Errorf("it is a global table of %d replicas, where the last writer wins and marks are lost: want one in one region", n)
	}
	ttl, err := s.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.table})
	if err != nil {
		return err
	}
	if of := ttl.TimeToLiveDescription; of != nil && (of.TimeToLiveStatus == types.TimeToLiveStatusEnabled || of.TimeToLiveStatus == types.TimeToLiveStatusEnabling) {
		return fmt.Errorf("it has a time to live, %s, which deletes marks: want it disabled", aws.ToString(of.AttributeName))
	}
	return nil
}
