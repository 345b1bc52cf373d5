package dynamodb

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/dataheader"
)

// words is an account that keeps what it is told in words.
type words []string

func (w *words) Tell(events ...history.Event) {
	for _, e := range events {
		*w = append(*w, fmt.Sprintf("%d %s %s %s=%s missing=%t token=%d %s", e.Index, e.Kind, e.Op, e.Key, e.Value, e.Missing, e.Token, e.Reason))
	}
}

func (w *words) Fail(_ *proc.Process, err error) { *w = append(*w, err.Error()) }

const (
	readsK   = `{"TableName":"data","Key":{"key":{"S":"/gcsim-TADKZKKA4TAMFVYJYNAZU436VM/k"}},"ConsistentRead":true}`
	changes  = `{"TransactItems":[{"ConditionCheck":{"TableName":"locks"}},{"Put":{"TableName":"data","Item":{"key":{"S":"/k"},"value":{"S":"v"}}}},{"Put":{"TableName":"data","Item":{"key":{"S":"/l"},"token":{"N":"7"}}}},{"Delete":{"TableName":"data","Key":{"key":{"S":"/m"}}}}]}`
	canceled = `{"__type":"TransactionCanceledException","CancellationReasons":[{"Code":"ConditionalCheckFailed"},{"Code":"None"}]}`
)

// TestAccountOfData: it tells what the server was asked for, and did, in its order, whatever the header says.
func TestAccountOfData(t *testing.T) {
	var all words
	account := dataAccount{told: &all}
	for _, c := range []struct {
		operation, body string
		status          int // 0: no answer
		answer          string
		want            []string // an error is the last
	}{
		{getItem, readsK, 200, `{}`, []string{"1 applied read k= missing=true token=7 "}},
		{getItem, readsK, 200, `{"Item":{"key":{"S":"/k"},"value":{"S":"v"}}}`, []string{"2 applied read k=v missing=false token=7 "}},
		{transact, changes, 200, `{}`, []string{"3 applied write k=v missing=false token=7 ", "4 applied delete l= missing=false token=7 ", "5 applied delete m= missing=false token=7 "}},
		{transact, changes, 400, canceled, []string{"6 refused write k=v missing=false token=7 stale", "7 refused delete l= missing=false token=7 stale", "8 refused delete m= missing=false token=7 stale"}},
		{transact, changes, 400, `{"__type":"TransactionCanceledException","CancellationReasons":[{"Code":"TransactionConflict"}]}`, nil},
		{transact, changes, 400, `{"__type":"ValidationException"}`, nil},
		{transact, changes, 500, `{}`, []string{"dynamodb answers 500: {}"}},
		{transact, changes, 0, "", []string{"the server has not said what came of a write of k: cut"}},
	} {
		header := make(http.Header)
		dataheader.Set(header, &history.Event{Request: "r", Token: 7, Op: history.OpDelete, Key: "other"})
		question, err := questionOf(c.operation, header, []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		all = nil
		var resp *http.Response
		if c.status > 0 {
			resp = &http.Response{StatusCode: c.status}
		} else {
			err = errors.New("cut")
		}
		if err := account.see(question, resp, []byte(c.answer), err); err != nil {
			all.Fail(nil, err)
		}
		if !slices.Equal(all, c.want) {
			t.Errorf("%s, answered %d %s:\ntold %q\nwant %q", c.operation, c.status, c.answer, all, c.want)
		}
	}
}

// TestQuestions: what asks for no data is no question, and what the account could not tell of is refused.
func TestQuestions(t *testing.T) {
	header := make(http.Header)
	dataheader.Set(header, new(history.Event))
	for _, c := range []struct{ operation, body, want string }{
		{"PutItem", `{"TableName":"locks","Item":{"key":{"S":"/lock"},"flag":{"BOOL":true}}}`, ""},
		{getItem, `{"TableName":"locks"}`, ""},
		{"ListTables", `{}`, ""},
		{"PutItem", `{"TableName":"data"}`, "does not know PutItem"},
		{transact, `{"TransactItems":[]}`, "does not know TransactWriteItems"},
		{transact, `{"TransactItems":[{"Put":{"TableName":"locks"}}]}`, "a Put and a Delete in the table data"},
		{transact, `{"TransactItems":[{"Update":{"TableName":"data"}}]}`, "a Put and a Delete in the table data"},
	} {
		question, err := questionOf(c.operation, header, []byte(c.body))
		if question != nil || c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: %v, %v, want %q", c.operation, c.body, question, err, c.want)
		}
	}
	if _, err := questionOf(getItem, nil, []byte(readsK)); err == nil || !strings.Contains(err.Error(), "X-Gcsim-Asked") {
		t.Errorf("a question that does not say which it is: %v", err)
	}
}
