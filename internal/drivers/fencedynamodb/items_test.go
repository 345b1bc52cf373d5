package fencedynamodb_test

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencedynamodb"
)

// items is a store whose data are items of a table beside that of the marks: one for each key of a scope.
type items struct {
	*fencedynamodb.Store
	client *dynamodb.Client
	marks  string // the name of the table of marks
}

func newItems(ctx context.Context, client *dynamodb.Client, marks string) (*items, error) {
	if err := create(ctx, client, marks, "scope", types.ScalarAttributeTypeS, ""); err != nil {
		return nil, err
	}
	if err := create(ctx, client, dataOf(marks), "lock", types.ScalarAttributeTypeS, "key"); err != nil {
		return nil, err
	}
	return openItems(ctx, client, marks)
}

func openItems(ctx context.Context, client *dynamodb.Client, marks string) (*items, error) {
	s, err := fencedynamodb.New(ctx, client, marks)
	return &items{s, client, marks}, err
}

func dataOf(marks string) string { return marks + "-data" }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func at(scope, key string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"lock": text(scope), "key": text(key)}
}

func (i *items) put(scope, key, value string) types.TransactWriteItem {
	item := at(scope, key)
	item["value"] = text(value)
	return types.TransactWriteItem{Put: &types.Put{TableName: aws.String(dataOf(i.marks)), Item: item}}
}

// absent is a condition: there is no such key.
func (i *items) absent(scope, key string) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{TableName: aws.String(dataOf(i.marks)), Key: at(scope, key),
		ConditionExpression: aws.String("attribute_not_exists(#key)"), ExpressionAttributeNames: map[string]string{"#key": "key"}}}
}

func plan(writes ...types.TransactWriteItem) func(context.Context) ([]types.TransactWriteItem, error) {
	return func(context.Context) ([]types.TransactWriteItem, error) { return writes, nil }
}

// Write is as fencetest.Store says.
func (i *items) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return i.Do(ctx, c, plan(i.put(c.Scope, key, value)))
}

// Delete is as fencetest.Store says.
func (i *items) Delete(ctx context.Context, c fence.Claim, key string) error {
	return i.Do(ctx, c, plan(types.TransactWriteItem{Delete: &types.Delete{TableName: aws.String(dataOf(i.marks)), Key: at(c.Scope, key)}}))
}

// Read is as fencetest.Store says.
func (i *items) Read(ctx context.Context, c fence.Claim, key string) (value string, ok bool, err error) {
	get := func(ctx context.Context) ([]types.TransactWriteItem, error) {
		value, ok, err = i.get(ctx, c.Scope, key)
		return nil, err
	}
	if c.Token == 0 {
		_, err = get(ctx)
		return value, ok, err
	}
	if err := i.Do(ctx, c, get); err != nil {
		return "", false, err
	}
	return value, ok, nil
}

func (i *items) get(ctx context.Context, scope, key string) (string, bool, error) {
	got, err := i.client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: aws.String(dataOf(i.marks)), Key: at(scope, key)}},
	}})
	if err != nil {
		return "", false, err
	}
	value, ok := got.Responses[0].Item["value"].(*types.AttributeValueMemberS)
	if !ok {
		return "", false, nil
	}
	return value.Value, true, nil
}
