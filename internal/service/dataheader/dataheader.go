// Package dataheader is the header by which a client's request for data in a lock service says what no request of that service
// says: which request of the story it is, and what it shows. A gate before the service reads the header, and the service is
// not told of it.
package dataheader

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/fencelab/fencelab/internal/history"
)

const header = "X-Gcsim-Asked"

// Set has a request's header say what is special about a question.
func Set(to http.Header, question *history.Event) {
	text, err := json.Marshal(shownBy(question))
	if err != nil {
		panic(err) // an event always can be
	}
	to.Set(header, url.PathEscape(string(text)))
}

// In is what the header of a request says. What a client says beyond that does not count.
func In(of http.Header) (history.Event, error) {
	var e history.Event
	text, err := url.PathUnescape(of.Get(header))
	if err == nil {
		err = json.Unmarshal([]byte(text), &e)
	}
	if err != nil {
		return history.Event{}, fmt.Errorf("the header %s: %w", header, err)
	}
	return shownBy(&e), nil
}

func shownBy(question *history.Event) history.Event {
	return history.Event{Request: question.Request, Scope: question.Scope, Token: question.Token, Sequence: question.Sequence, Mode: question.Mode}
}
