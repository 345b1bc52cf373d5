package dynamodb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/dataheader"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// data is the table of what the locks protect, an item for each key of each run.
const data = "data"

// The attributes of such an item, beside its key. Who fences by a mark writes both.
const (
	value = "value" // none: the key has no value
	token = "token" // the mark
)

// The operations that ask for data.
const (
	getItem  = "GetItem"
	transact = "TransactWriteItems"
)

// client has its other half take its locks, and send its requests for the data: what stops that half stops both.
type client struct {
	*peer.Client
	url   string
	http  http.Client
	fence string
}

func (c *client) Under(service.Tenure) (of service.Data, within bool) { return c, false }

// Do implements service.Data. A read compares nothing.
func (c *client) Do(ctx context.Context, ask *history.Event) error {
	if c.fence != fenceNone && ask.Op != history.OpRead && ask.Token == 0 {
		return fence.Definite.New(fmt.Sprintf("%s: nothing was sent, as there is no token to compare: take the lock first", ask.Op))
	}
	status, answer, err := c.ask(ctx, ask)
	var failed *net.OpError
	switch {
	case errors.As(err, &failed) && failed.Op == "dial":
		return fence.Definite.Wrap(fmt.Errorf("%s: nothing was sent: %w", ask.Op, err))
	case err != nil:
		return &lock.UnknownError{Op: ask.Op, Scope: ask.Scope, Err: err}
	case notMet(answer):
		return fmt.Errorf("%w: a condition of the transaction is not met", fence.ErrStale)
	case status >= http.StatusInternalServerError:
		return &lock.UnknownError{Op: ask.Op, Scope: ask.Scope, Err: refusal(status, answer)}
	case status != http.StatusOK:
		return fence.Definite.Wrap(fmt.Errorf("%s: %w", ask.Op, refusal(status, answer)))
	case ask.Op == history.OpRead:
		ask.Value, ask.Missing, err = valueIn(answer)
	}
	return err
}

func refusal(status int, answer []byte) error {
	return fmt.Errorf("%s answers %d: %s", Name, status, answer)
}

// ask has the other half send a question, once.
func (c *client) ask(ctx context.Context, question *history.Event) (status int, answer []byte, err error) {
	operation, content := transact, any(nil)
	if question.Op == history.OpRead {
		operation, content = getItem, readOf(nameOf(question))
	} else {
		content = transaction{c.writes(question)}
	}
	body, err := json.Marshal(content)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header = ddbproc.Header(operation)
	dataheader.Set(request.Header, question)
	resp, err := c.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// transaction is the body of a TransactWriteItems: all of it is done in one step, or nothing.
type transaction struct{ TransactItems []write }

// write is one part of a transaction.
type write struct {
	ConditionCheck, Put, Delete *action `json:",omitempty"`
}

// action is what is to be done with an item, and on which condition.
type action struct {
	TableName                 string
	Key, Item                 attributes        `json:",omitempty"`
	ConsistentRead            bool              `json:",omitempty"`
	ConditionExpression       string            `json:",omitempty"`
	ExpressionAttributeNames  map[string]string `json:",omitempty"`
	ExpressionAttributeValues attributes        `json:",omitempty"`
}

// attributes are values by name, each under the name of its type: S is text, and N a number in decimals.
type attributes map[string]map[string]string

func text(s string) map[string]string { return map[string]string{"S": s} }

func number(n fence.Token) map[string]string {
	return map[string]string{"N": strconv.FormatUint(uint64(n), 10)}
}

// nameOf is the key of the item in which the data of a question is: other runs use the table, too.
func nameOf(ask *history.Event) string { return service.PrefixOf(ask.Scope) + "/" + ask.Key }

// readOf is the body of a GetItem of the data.
func readOf(name string) action {
	return action{TableName: data, Key: attributes{key: text(name)}, ConsistentRead: true}
}

// writes are the parts of the transaction that does what a question wants.
func (c *client) writes(ask *history.Event) (list []write) {
	if c.fence == fenceLock {
		check := action{TableName: table, Key: attributes{key: text(ask.Scope)}}
		check.on("#token = :token", ask.Token)
		list = append(list, write{ConditionCheck: &check})
	}
	for _, e := range ask.EachKey(ask.Changes) {
		do := action{TableName: data}
		if c.fence != fenceMark && e.Op == history.OpDelete {
			do.Key = attributes{key: text(nameOf(&e))}
			list = append(list, write{Delete: &do})
			continue
		}
		do.Item = attributes{key: text(nameOf(&e))}
		if e.Op != history.OpDelete { // the mark outlives the value
			do.Item[value] = text(e.Value)
		}
		if c.fence == fenceMark {
			do.Item[token] = number(ask.Token)
			do.on("attribute_not_exists(#token) OR #token <= :token", ask.Token)
		}
		list = append(list, write{Put: &do})
	}
	return list
}

// on has an action be done on a condition, which compares the attribute token with a number.
func (a *action) on(condition string, n fence.Token) {
	a.ConditionExpression, a.ExpressionAttributeNames, a.ExpressionAttributeValues = condition, map[string]string{"#token": token}, attributes{":token": number(n)}
}

// valueIn is what an answer to GetItem says of a key.
func valueIn(answer []byte) (is string, missing bool, err error) {
	var got struct{ Item attributes }
	err = json.Unmarshal(answer, &got)
	is, has := valueOf(got.Item)
	return is, !has, err
}

// valueOf is the value of an item, if that has one.
func valueOf(item attributes) (is string, has bool) {
	is, has = item[value]["S"]
	return is, has
}

// notMet reports whether an answer says that a condition of a transaction is not met, and that nothing was done.
func notMet(answer []byte) bool {
	var canceled struct {
		CancellationReasons []struct{ Code string }
	}
	if json.Unmarshal(answer, &canceled) != nil {
		return false
	}
	for _, reason := range canceled.CancellationReasons {
		if reason.Code == "ConditionalCheckFailed" {
			return true
		}
	}
	return false
}
