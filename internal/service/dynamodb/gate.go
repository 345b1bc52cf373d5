package dynamodb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/internal/service/leaseaccount"
)

// gate stands between a run's clients and the server. It lets changes through one after the other. After each it reads the
// items of the run's locks, and the client has its answer when the account has them, also if the change had no answer. So the
// account has the server's own order. Requests for the data are let through in the same way, reads as well. What came of
// them the answer says.
type gate struct {
	server  string
	account *leaseaccount.Account
	data    dataAccount
	locks   []string
	fail    func(error)

	mu   sync.Mutex // a change goes on
	last map[string]item
}

// reading are the operations that change nothing.
var reading = map[string]bool{"GetItem": true, "DescribeTable": true}

// ServeHTTP implements http.Handler. The server gets a request whole, and has the time to answer it, whatever becomes of the
// client.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	operation := strings.TrimPrefix(r.Header.Get(ddbproc.Target), ddbproc.Version)
	question, err := questionOf(operation, r.Header, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	pass := g.send
	if question != nil || !reading[operation] {
		pass = func(ctx context.Context, header http.Header, body []byte) (*http.Response, []byte, error) {
			return g.inOrder(ctx, header, body, question)
		}
	}
	resp, answer, err := pass(context.WithoutCancel(r.Context()), r.Header, body)
	if err != nil {
		panic(http.ErrAbortHandler) // the outcome is not known: the client gets no answer
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
}

// headers are those of requests that the server is told.
var headers = []string{"Authorization", "Content-Type", "X-Amz-Date", ddbproc.Target}

func (g *gate) send(ctx context.Context, header http.Header, body []byte) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.server+"/", bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for _, name := range headers {
		request.Header[name] = header[name]
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp, answer, err
}

// accountDeadline is for how long the account waits for what came of a request.
const accountDeadline = 10 * time.Second

// inOrder sends a request for the data, or one that may change the items of locks, and has the account take in what came of
// it. A lease begins when the request is sent, so that it is over when another client may take the lock.
func (g *gate) inOrder(ctx context.Context, header http.Header, body []byte, question []history.Event) (*http.Response, []byte, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sent := time.Now()
	resp, answer, err := g.send(ctx, header, body)
	if question != nil {
		if err := g.data.see(question, resp, answer, err); err != nil {
			g.fail(fmt.Errorf("the account of the data: %w", err))
		}
		return resp, answer, err
	}
	looking, cancel := context.WithTimeout(ctx, accountDeadline)
	defer cancel()
	for _, lock := range g.locks {
		if err := g.look(looking, lock, sent); err != nil {
			g.fail(fmt.Errorf("the account of %s: %w", lock, err))
		}
	}
	return resp, answer, err
}

// look has the account take in the item of a lock, if it has changed.
func (g *gate) look(ctx context.Context, lock string, at time.Time) error {
	question, err := json.Marshal(map[string]any{"TableName": table, "ConsistentRead": true, "Key": map[string]any{key: map[string]string{"S": lock}}})
	if err != nil {
		return err
	}
	answer, err := ddbproc.Ask(ctx, g.server, "GetItem", question)
	if err != nil {
		return err
	}
	now, err := itemIn(answer)
	if err != nil || now == g.last[lock] {
		return err
	}
	g.last[lock] = now
	says, err := now.says(at)
	if err != nil {
		return err
	}
	why := "its item was overwritten"
	if now == (item{}) {
		why = "its item was deleted"
	}
	g.account.See(lock, at, says, why)
	return nil
}
