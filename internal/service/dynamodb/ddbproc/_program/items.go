package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// asksWithin is for how long an answer is waited for.
const asksWithin = time.Second

// items are those of the table of locks, for one client.
type items struct{ *dynamodb.Client }

// connect makes a client that sends each request once: what becomes of a request that was not answered is for the recipe to
// find out.
func connect(addr string) items {
	return items{dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String("http://" + addr), Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("fencelab", "fencelab", ""),
		HTTPClient: &http.Client{Timeout: asksWithin}, Retryer: aws.NopRetryer{},
	})}
}

func (i items) reach(ctx context.Context) error {
	_, err := i.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(table)})
	return err
}

// The table, whose items are as those of Amazon's own lock client, with a token and the end of a lease beside.
const (
	table    = "locks"
	key      = "key"
	owner    = "ownerName"           // the name of the tenure
	version  = "recordVersionNumber" // another one after each change
	lease    = "leaseDuration"       // in milliseconds
	released = "isReleased"          // "1": the lock is free
	token    = "token"
	until    = "until" // the end of the lease by the holder's clock, in milliseconds since 1970; 0: the lock is free
)

// item is one as it was read or written.
type item struct {
	owner, version string // "": there is no item
	lease          time.Duration
	token          int64
	released       bool
}

func keyOf(lock string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{key: text(lock)}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func (i items) read(ctx context.Context, lock string) (item, error) {
	got, err := i.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(table), Key: keyOf(lock), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return item{}, err
	}
	return itemOf(got.Item)
}

func itemOf(attributes map[string]types.AttributeValue) (is item, err error) {
	var milliseconds int64
	for name, to := range map[string]*string{owner: &is.owner, version: &is.version} {
		if s, has := attributes[name].(*types.AttributeValueMemberS); has {
			*to = s.Value
		}
	}
	for name, to := range map[string]*int64{lease: &milliseconds, token: &is.token} {
		var digits string
		switch value := attributes[name].(type) {
		case *types.AttributeValueMemberS:
			digits = value.Value
		case *types.AttributeValueMemberN:
			digits = value.Value
		default:
			continue
		}
		var bad error
		*to, bad = strconv.ParseInt(digits, 10, 64)
		err = errors.Join(err, bad)
	}
	_, is.released = attributes[released]
	is.lease = time.Duration(milliseconds) * time.Millisecond
	return is, err
}

// condition is what has to be true of the item, with the values that it names; "": nothing.
type condition struct {
	expression string
	values     map[string]types.AttributeValue
}

func (c condition) parts() (expression *string, names map[string]string, values map[string]types.AttributeValue) {
	switch c.expression {
	case "":
		return nil, nil, nil
	case nothingIsThere.expression:
		return &c.expression, map[string]string{"#key": key}, nil
	}
	return &c.expression, map[string]string{"#version": version, "#owner": owner}, c.values
}

var (
	whateverIsThere condition
	nothingIsThere  = condition{expression: "attribute_not_exists(#key)"}
)

// asRead says that the item is as it was read.
func (i item) asRead() condition {
	if i.owner == "" {
		return nothingIsThere
	}
	return condition{"#owner = :owner AND #version = :version", map[string]types.AttributeValue{":owner": text(i.owner), ":version": text(i.version)}}
}

// write writes an item, as a whole, if a condition is true of the one that is there.
func (i items) write(ctx context.Context, lock string, is item, on condition) error {
	all := keyOf(lock)
	all[owner], all[version] = text(is.owner), text(is.version)
	if is.lease > 0 {
		all[lease] = text(strconv.FormatInt(is.lease.Milliseconds(), 10))
	}
	if is.token > 0 {
		all[token] = number(is.token)
	}
	if is.released {
		all[released] = text("1")
	}
	in := &dynamodb.PutItemInput{TableName: aws.String(table), Item: all}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = on.parts()
	_, err := i.PutItem(ctx, in)
	return err
}

// remove deletes the item if a condition is true of it.
func (i items) remove(ctx context.Context, lock string, on condition) error {
	in := &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: keyOf(lock)}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = on.parts()
	_, err := i.DeleteItem(ctx, in)
	return err
}

// claim writes another owner with the end of its lease and the next token into the item, if there is none or its lease is
// over at a time, and returns it. It is one request, and reads nothing before.
func (i items) claim(ctx context.Context, lock, by string, now, end int64) (item, error) {
	return i.update(ctx, lock, "SET #owner = :owner, #until = :end ADD #token :one", "attribute_not_exists(#owner) OR #until < :now",
		map[string]types.AttributeValue{":owner": text(by), ":end": number(end), ":now": number(now), ":one": number(1)})
}

// extend writes another end of the lease into the item if it has the owner; 0: the lock is free.
func (i items) extend(ctx context.Context, lock, by string, end int64) (item, error) {
	return i.update(ctx, lock, "SET #until = :end", "#owner = :owner", map[string]types.AttributeValue{":owner": text(by), ":end": number(end)})
}

func (i items) update(ctx context.Context, lock, change, on string, values map[string]types.AttributeValue) (item, error) {
	names := map[string]string{"#owner": owner, "#until": until}
	if _, counts := values[":one"]; counts {
		names["#token"] = token
	}
	put, err := i.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: keyOf(lock), UpdateExpression: aws.String(change), ConditionExpression: aws.String(on),
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil {
		return item{}, err
	}
	return itemOf(put.Attributes)
}

// changed reports that the item is not as a condition wants it.
func changed(err error) bool { return errors.As(err, new(*types.ConditionalCheckFailedException)) }
