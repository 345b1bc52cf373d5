package elasticsearch_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/webpage/pagetest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/elasticsearch"
)

// stage takes in what an account tells.
type stage struct {
	service.Stage
	told   chan history.Event
	failed chan error
}

func newStage() *stage { return &stage{told: make(chan history.Event), failed: make(chan error, 1)} }

func (s *stage) Tell(events ...history.Event) {
	for _, e := range events {
		s.told <- e
	}
}

func (s *stage) Fail(_ *proc.Process, err error) { s.failed <- err }

// oneLock is a node that has one document at most. With lost it does what it is asked for, and
// breaks the connection.
type oneLock struct {
	lost bool

	mu    sync.Mutex
	there bool
	seq   int
}

func (n *oneLock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		if !n.there {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, `{"found": %v, "_seq_no": %d, "_primary_term": 1, "_source": {}}`, n.there, n.seq)
		return
	case http.MethodPut, http.MethodDelete:
		n.there, n.seq = r.Method == http.MethodPut, n.seq+1
	}
	if n.lost {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprint(w, "{}")
}

// gated are a gate and what its account tells.
func gated(t *testing.T, n http.Handler) (s *stage, url string, closeGate func()) {
	t.Helper()
	s = newStage()
	node := httptest.NewServer(n)
	t.Cleanup(node.Close)
	handler, closeGate, err := elasticsearch.Gate(s, node.URL, "/lock")
	if err != nil {
		t.Fatal(err)
	}
	gate := httptest.NewServer(handler)
	t.Cleanup(gate.Close)
	return s, gate.URL, closeGate
}

// ask sends a request as an attempt to take the lock, by an owner, and returns what becomes of it.
func ask(t *testing.T, method, url, owner string) <-chan error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Opaque-Id", owner+" %2Flock")
	answered := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		answered <- err
	}()
	return answered
}

// TestWebPages: neither the gate nor the node behind it, which has a port of its own, obeys any.
func TestWebPages(t *testing.T) {
	_, url, _ := gated(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a page has come to the node") }))
	pagetest.Refused(t, url+"/_all/_close")
	t.Run("node", func(t *testing.T) { pagetest.Refused(t, "http://"+node.Get(t).Addr+"/index/_doc/1") })
}

// TestGate: a client has its answer when the account has told what came of the request.
func TestGate(t *testing.T) {
	s, url, _ := gated(t, new(oneLock))
	for _, want := range []history.Event{
		{Kind: history.KindGranted, Scope: "/lock", Tenure: "a"},
		{Kind: history.KindEnded, Scope: "/lock", Tenure: "a", Cause: history.CauseRevoked},
	} {
		method := map[history.Kind]string{history.KindGranted: http.MethodPut, history.KindEnded: http.MethodDelete}[want.Kind]
		answered := ask(t, method, url+"/fs-lock/_doc/%2Flock", "a")
		select {
		case err := <-answered:
			t.Fatalf("%s: answered before the account told of it (%v)", method, err)
		case e := <-s.told:
			if e.Kind != want.Kind || e.Scope != want.Scope || e.Tenure != want.Tenure || e.Cause != want.Cause {
				t.Errorf("%s: told %+v, want %+v", method, e, want)
			}
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
}

// TestLostAnswer: the account finds out what a lost answer hides, and the client does not.
func TestLostAnswer(t *testing.T) {
	s, url, _ := gated(t, &oneLock{lost: true})
	answered := ask(t, http.MethodPut, url+"/fs-lock/_create/%2Flock", "a")
	if e := <-s.told; e.Kind != history.KindGranted || e.Tenure != "a" {
		t.Errorf("told %+v, want the grant", e)
	}
	if err := <-answered; err == nil {
		t.Error("the client has an answer")
	}
}

// TestClosed: what a client has left behind does not come to the node when the run is over.
func TestClosed(t *testing.T) {
	s, url, closeGate := gated(t, new(oneLock))
	closeGate()
	select {
	case err := <-ask(t, http.MethodPut, url+"/fs-lock/_create/%2Flock", "a"):
		if err == nil {
			t.Error("the client has an answer")
		}
	case e := <-s.told:
		t.Errorf("told %+v", e)
	}
}

// TestNoAccount: where the documents cannot be read, the run fails.
func TestNoAccount(t *testing.T) {
	s, url, _ := gated(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	if err := <-ask(t, http.MethodPut, url+"/fs-lock/_create/%2Flock", "a"); err != nil {
		t.Error(err)
	}
	select { // before the answer
	case err := <-s.failed:
		if err == nil || !strings.Contains(err.Error(), "the account of elasticsearch") || !strings.Contains(err.Error(), "403") {
			t.Errorf("got %v", err)
		}
	default:
		t.Error("the run goes on")
	}
}
