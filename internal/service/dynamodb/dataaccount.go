package dynamodb

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/dataheader"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// dataAccount tells of the data, in the order in which the gate lets requests through. The gate's mutex guards it.
type dataAccount struct {
	told  service.Account
	index int64 // of what it told last
}

// questionOf is what a client asks of the data by a request, key by key; nil: nothing. What is done is what the server gets.
// The header has only what the server is not told: which request this is, and what it shows.
func questionOf(operation string, header http.Header, body []byte) (list []history.Event, err error) {
	var of struct{ TableName string }
	if err := json.Unmarshal(body, &of); err != nil {
		return nil, err
	}
	if operation != transact && of.TableName != data {
		return nil, nil
	}
	e, err := dataheader.In(header)
	if err != nil {
		return nil, err
	}
	e.Lane = history.LaneStorage
	var question struct {
		action
		transaction
	}
	if err := json.Unmarshal(body, &question); err != nil {
		return nil, err
	}
	if operation == getItem {
		e.Op, e.Key = history.OpRead, keyIn(question.Key)
		return []history.Event{e}, nil
	}
	for _, w := range question.TransactItems {
		if w.ConditionCheck != nil {
			continue
		}
		if e.Op, e.Key, e.Value, err = w.change(); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the account of the data does not know %s of that: want GetItem, or TransactWriteItems that changes data", operation)
	}
	return list, nil
}

// change is what a part of a transaction does to the data.
func (w write) change() (op, key, value string, err error) {
	switch {
	case w.Put != nil && w.Put.TableName == data:
		value, has := valueOf(w.Put.Item)
		if !has {
			return history.OpDelete, keyIn(w.Put.Item), "", nil
		}
		return history.OpWrite, keyIn(w.Put.Item), value, nil
	case w.Delete != nil && w.Delete.TableName == data:
		return history.OpDelete, keyIn(w.Delete.Key), "", nil
	}
	return "", "", "", errors.New("the account of the data knows a ConditionCheck, and a Put and a Delete in the table " + data)
}

// keyIn is the key of which an item tells.
func keyIn(item attributes) string {
	name := item[key]["S"]
	return strings.TrimPrefix(name, service.PrefixOf(name)+"/")
}

// see tells of what came of a question. Its error says why that is not known.
func (a *dataAccount) see(question []history.Event, resp *http.Response, answer []byte, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("the server has not said what came of a %s of %s: %w", question[0].Op, question[0].Key, err)
	case resp.StatusCode >= http.StatusInternalServerError:
		return refusal(resp.StatusCode, answer)
	case notMet(answer):
		a.tell(question, history.KindRefused, string(fencehttp.ReasonStale))
	case resp.StatusCode == http.StatusOK:
		if e := &question[0]; e.Op == history.OpRead {
			if e.Value, e.Missing, err = valueIn(answer); err != nil {
				return err
			}
		}
		a.tell(question, history.KindApplied, "")
	}
	return nil // any other answer says that nothing was done
}

// tell tells of all parts of a question at once.
func (a *dataAccount) tell(question []history.Event, kind history.Kind, reason string) {
	for i := range question {
		a.index++
		e := &question[i]
		e.Kind, e.Reason, e.Index, e.At = kind, reason, a.index, time.Duration(time.Now().UnixNano())
	}
	a.told.Tell(question...)
}
