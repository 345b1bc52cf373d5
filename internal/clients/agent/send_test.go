package agent_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/history"
)

// route is a second way to the world's storage.
type route struct {
	*httptest.Server
	held chan string       // IDs of requests that have come and wait
	goOn chan func(func()) // for each, what becomes of it
}

// answers and loses are what becomes of a request: it is done, or it is done and
// the answer is lost.
func answers(serve func()) { serve() }

func loses(serve func()) {
	serve()
	panic(http.ErrAbortHandler)
}

func newRoute(t *testing.T, w *clienttest.World) *route {
	r := &route{held: make(chan string, 10), goOn: make(chan func(func()))}
	r.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		id := req.Header.Get("X-Request-Id")
		if id == "" {
			return
		}
		r.held <- id
		become := <-r.goOn
		if become == nil {
			return
		}
		answer := httptest.NewRecorder()
		become(func() { w.Storage.Config.Handler.ServeHTTP(answer, req) })
		for name, values := range answer.Header() {
			rw.Header()[name] = values
		}
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(answer.Body.Bytes())
	}))
	t.Cleanup(func() { close(r.goOn); r.Close() })
	return r
}

func (r *route) want(t *testing.T, id string) {
	t.Helper()
	select {
	case got := <-r.held:
		if got != id {
			t.Fatalf("request %s comes, want %s", got, id)
		}
	case <-clienttest.Within(t).Done():
		t.Fatalf("request %s does not come", id)
	}
}

func TestAgentSends(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	r := newRoute(t, w)
	a := startAgent(t, w, "--send-storage", r.URL)
	grant := a.take(t, "lock")
	request := func(op, key, value, id string, kind history.Kind) history.Event {
		return with(grant, func(e *history.Event) { e.Op, e.Key, e.Value, e.Request, e.Kind = op, key, value, id, kind })
	}
	a.say(t, "send write key0=slow")
	a.want(t, request("write", "key0", "slow", "client1-1", "invoke"))
	r.want(t, "client1-1")

	// It holds up nothing else, another send included.
	a.wantKind(t, "write key0=fast", "ok")
	a.say(t, "send delete key1")
	a.want(t, request("delete", "key1", "", "client1-3", "invoke"))
	r.want(t, "client1-3")
	a.wantKind(t, "unlock", "ok")
	w.WantValue(t, "key0", "fast")

	r.goOn <- answers
	r.goOn <- answers
	outcomes := map[string]history.Event{}
	for range 2 {
		e := a.next(t)
		outcomes[e.Request] = e
	}
	if e := outcomes["client1-1"]; e.Kind != "ok" || e.Tenure != grant.Tenure {
		t.Errorf("%+v, want that it is done under the tenure in which it was sent", e)
	}
	if e := outcomes["client1-3"]; e.Kind != "ok" {
		t.Errorf("%+v", e)
	}
	w.WantValue(t, "key0", "slow")
}

// TestAgentRetriesAWrite: a request whose answer was lost is done again, with
// the sequence number that it had.
func TestAgentRetriesAWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		numbered bool
		value    string
		kind     history.Kind
	}{{true, "second", "fail"}, {false, "first", "ok"}} {
		w := clienttest.New(t)
		r := newRoute(t, w)
		args := []string{"--send-storage", r.URL}
		if c.numbered {
			args = append(args, "--numbered")
		}
		a := startAgent(t, w, args...)
		a.take(t, "lock")
		a.wantError(t, "retry", "no request of unknown outcome")
		a.say(t, "send write key0=first")
		sent := a.next(t)
		r.want(t, "client1-1")
		r.goOn <- loses
		if e := a.next(t); e.Kind != "unknown" || e.Request != "client1-1" {
			t.Fatalf("%+v, want that the outcome is unknown", e)
		}
		a.say(t, "send retry")
		again := a.next(t)
		if want := with(sent, func(e *history.Event) { e.Request, e.RetryOf = "client1-2", "client1-1" }); !reflect.DeepEqual(again, want) {
			t.Errorf("the retry is\n%+v, want\n%+v", again, want)
		}
		r.want(t, "client1-2")
		a.wantKind(t, "write key0=second", "ok")
		r.goOn <- answers
		if e := a.next(t); e.Request != "client1-2" || e.Kind != c.kind || (c.kind == "fail") != (e.Reason == "stale" && e.Mark == e.Token) {
			t.Errorf("numbered %v: the late retry: %+v", c.numbered, e)
		}
		w.WantValue(t, "key0", c.value)
	}
}

// TestAgentRetriesARetry: each attempt has an ID of its own, and names the first.
func TestAgentRetriesARetry(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	r := newRoute(t, w)
	a := startAgent(t, w, "--send-storage", r.URL)
	a.take(t, "lock")
	for i, line := range []string{"send write key0=x", "send retry", "send retry"} {
		a.say(t, line)
		id, first := fmt.Sprintf("client1-%d", i+1), ""
		if i > 0 {
			first = "client1-1"
		}
		if e := a.next(t); e.Kind != "invoke" || e.Request != id || e.RetryOf != first {
			t.Errorf("%s: %+v, want request %s, a retry of %q", line, e, id, first)
		}
		r.want(t, id)
		r.goOn <- loses
		if e := a.next(t); e.Kind != "unknown" || e.Request != id {
			t.Errorf("%s: %+v, want that the outcome of %s is unknown", line, e, id)
		}
	}
}

func TestAgentSendsInTime(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	r := newRoute(t, w)
	a := startAgent(t, w, "--send-storage", r.URL, "--timeout", "1s")
	a.take(t, "lock")
	a.say(t, "send change key0=x key1=y")
	a.next(t)
	r.want(t, "client1-1")
	if e := a.next(t); e.Kind != "unknown" || e.Op != "change" {
		t.Errorf("%+v, want that its time is over", e)
	}
	// The end does not wait for longer.
	a.say(t, "send write key0=x")
	a.next(t)
	r.want(t, "client1-2")
	a.stdin.Close()
	unlock, sent := false, false
	for range 3 {
		e := a.next(t)
		unlock = unlock || e.Op == "unlock" && e.Kind == "ok"
		sent = sent || e.Request == "client1-2" && e.Kind == "unknown"
	}
	if !unlock || !sent {
		t.Error("want the lock released and the request's outcome unknown")
	}
	a.wantEnd(t)
}

func TestAgentSendsNothingElse(t *testing.T) {
	t.Parallel()
	a := startAgent(t, clienttest.New(t))
	for _, line := range []string{"send read key0", "send lock", "send write", "send write ", "send retry key0", "send finish x"} {
		a.wantError(t, line, "send ")
	}
	a.wantError(t, "send finish", "nothing was begun")
	a.wantError(t, "send retry", "no request of unknown outcome")
	a.wantError(t, "send write key0", "want KEY=VALUE")
}

// TestAgentSendsWhatItBegan: it goes by the way of all that is sent, and holds up
// nothing.
func TestAgentSendsWhatItBegan(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	r := newRoute(t, w)
	a := startAgent(t, w, "--send-storage", r.URL)
	a.take(t, "lock")
	a.say(t, "begin write key0=slow")
	if e := a.next(t); e.Kind != "note" {
		t.Fatalf("%+v, want that it stands before the write", e)
	}
	a.say(t, "send finish")
	if e := a.next(t); e.Kind != "invoke" || e.Request != "client1-1" {
		t.Errorf("%+v, want that the write is sent", e)
	}
	r.want(t, "client1-1")
	a.wantKind(t, "write key0=fast", "ok")
	r.goOn <- answers
	if e := a.next(t); e.Kind != "ok" || e.Request != "client1-1" {
		t.Errorf("%+v, want that the write is done", e)
	}
	w.WantValue(t, "key0", "slow")
}
