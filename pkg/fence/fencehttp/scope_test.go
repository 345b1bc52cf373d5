package fencehttp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// ask sends a request through the Middleware, and reports whether it came to the
// handler.
func ask(g fence.Guard, o fencehttp.Options, method, path string, c fence.Claim) (w *httptest.ResponseRecorder, ran bool) {
	h := fencehttp.Middleware(g, o)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true }))
	r := httptest.NewRequest(method, path, nil)
	fencehttp.SetClaim(r.Header, c)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, ran
}

// TestNoScopeIsNoWayIn: a server that does not say which lock guards a resource
// leaves the choice to nobody.
func TestNoScopeIsNoWayIn(t *testing.T) {
	for name, o := range map[string]fencehttp.Options{
		"not set":      {},
		"no name":      {Scope: func(*http.Request) string { return "" }},
		"only MaxBody": {MaxBody: 10},
	} {
		for _, tt := range []struct {
			method string
			claim  fence.Claim
			fenced bool
		}{
			{http.MethodPut, fence.Claim{Token: 34}, true},
			{http.MethodPut, fence.Claim{Token: 34, Scope: "/orders"}, true},
			{http.MethodPut, fence.Claim{}, true},
			{http.MethodDelete, fence.Claim{Token: 34, Scope: "/orders"}, true},
			{http.MethodGet, fence.Claim{Token: 34}, true},
			{http.MethodGet, fence.Claim{Scope: "/orders"}, true},
			{http.MethodGet, fence.Claim{Sequence: 1}, true},
			{http.MethodGet, fence.Claim{Mode: fence.Shared}, true},
			{http.MethodGet, fence.Claim{}, false},
		} {
			w, ran := ask(new(fence.Register), o, tt.method, "/orders", tt.claim)
			if ran == tt.fenced {
				t.Errorf("%s: %s with %+v: the handler ran: %v", name, tt.method, tt.claim, ran)
			}
			if tt.fenced && (w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "Options.Scope")) {
				t.Errorf("%s: %s with %+v: %d %s, want 500 and a text that says what to set", name, tt.method, tt.claim, w.Code, w.Body)
			}
		}
	}
}

// TestClientDoesNotChooseTheScope: neither by naming none, nor another one, nor
// by another spelling of it or of the path.
func TestClientDoesNotChooseTheScope(t *testing.T) {
	var marks fence.Register
	orders := fencehttp.Options{Scope: func(*http.Request) string { return "/orders" }}
	if w, ran := ask(&marks, orders, http.MethodPut, "/orders", fence.Claim{Token: 34}); !ran {
		t.Fatal(w.Body)
	}
	for _, path := range []string{"/orders", "/Orders", "/orders/", "//orders", "/orders?x=1", "/%6frders"} {
		for scope, want := range map[string]int{
			"": 412, "/orders": 412,
			"/Orders": 400, "/orders/": 400, "orders": 400, "/order": 400, "/orders/7": 400, "/ORDERS": 400, "%2Forders": 400,
		} {
			w, ran := ask(&marks, orders, http.MethodPut, path, fence.Claim{Scope: scope, Token: 33})
			if ran || w.Code != want {
				t.Errorf("%s in scope %q: status %d, the handler ran: %v, want %d", path, scope, w.Code, ran, want)
			}
		}
	}
	if w, ran := ask(&marks, orders, http.MethodGet, "/orders", fence.Claim{Scope: "/other"}); ran || w.Code != 400 {
		t.Errorf("a read that names another lock: status %d, the handler ran: %v", w.Code, ran)
	}
}

// txGuard is a store of its own kind: it puts something into the context of an
// operation, and refuses what it likes.
type txGuard struct{ refuse error }

type txKey struct{}

func (g txGuard) Do(ctx context.Context, _ fence.Claim, op func(context.Context) error) error {
	if g.refuse != nil {
		return g.refuse
	}
	return op(context.WithValue(ctx, txKey{}, "the transaction"))
}

func TestAnyGuard(t *testing.T) {
	var tx any
	h := func(g fence.Guard) http.Handler {
		return fencehttp.Middleware(g, byPath)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { tx = r.Context().Value(txKey{}) }))
	}
	r := httptest.NewRequest(http.MethodPut, "/a", nil)
	fencehttp.SetClaim(r.Header, fence.Claim{Token: 1})
	h(txGuard{}).ServeHTTP(httptest.NewRecorder(), r)
	if tx != "the transaction" {
		t.Errorf("the handler's context has %v", tx)
	}
	w := httptest.NewRecorder()
	h(txGuard{refuse: &fence.StaleError{Scope: "/a", Token: 1, Mark: 2}}).ServeHTTP(w, r)
	if w.Code != http.StatusPreconditionFailed {
		t.Errorf("a refusal of the store is status %d", w.Code)
	}
	w = httptest.NewRecorder()
	h(txGuard{refuse: errors.New("disk full")}).ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a failure of the store is status %d", w.Code)
	}
}

// TestObservedHandlerRuns: while a service only observes, its handler runs for each client.
func TestObservedHandlerRuns(t *testing.T) {
	var reasons []fencehttp.Reason
	g := fence.Observe(new(fence.Register), func(_ context.Context, _ fence.Claim, refused error) {
		reasons = append(reasons, fencehttp.ReasonOf(refused))
	})
	for _, token := range []fence.Token{34, 33, 0} {
		if w, ran := ask(g, byPath, http.MethodPut, "/orders", fence.Claim{Token: token}); !ran || w.Code != http.StatusOK {
			t.Errorf("token %d: status %d, the handler ran: %v", token, w.Code, ran)
		}
	}
	if want := []fencehttp.Reason{"", fencehttp.ReasonStale, fencehttp.ReasonMissing}; !slices.Equal(reasons, want) {
		t.Errorf("reported %q, want %q", reasons, want)
	}
}

// TestHandlerDoesNotRunForClientsThatGaveUp while they waited for their turn.
func TestHandlerDoesNotRunForClientsThatGaveUp(t *testing.T) {
	const clients = 20
	var marks fence.Register
	entered, leave := make(chan struct{}), make(chan struct{})
	calls := 0 // of the handler, which runs once at a time
	waiting := &countingGuard{Guard: &marks, arrived: make(chan struct{}, 2*clients), gone: make(chan error, 2*clients)}
	srv := httptest.NewServer(fencehttp.Middleware(waiting, byPath)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if calls++; calls == 1 {
			close(entered)
			<-leave
		}
	})))
	defer srv.Close()
	put := func(ctx context.Context) error {
		return newRemote(srv).Write(ctx, fence.Claim{Scope: "/lock", Token: 34}, "a", "v")
	}
	held := make(chan error, 1)
	go func() { held <- put(t.Context()) }()
	<-entered
	<-waiting.arrived
	ctx, cancel := context.WithCancel(t.Context())
	for range clients {
		go func() { _ = put(ctx) }()
	}
	for range clients {
		<-waiting.arrived
	}
	cancel()
	for range clients {
		if err := <-waiting.gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that the client has gone", err)
		}
	}
	close(leave)
	if err := <-held; err != nil {
		t.Error(err)
	}
	if err := put(t.Context()); err != nil {
		t.Error(err)
	}
	if calls != 2 {
		t.Errorf("the handler ran %d times, want 2", calls)
	}
}

// countingGuard tells of each claim that comes, and of what became of it.
type countingGuard struct {
	fence.Guard
	arrived chan struct{}
	gone    chan error
}

func (g *countingGuard) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	g.arrived <- struct{}{}
	err := g.Guard.Do(ctx, c, op)
	g.gone <- err
	return err
}
