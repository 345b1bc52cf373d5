package fencehttp_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// roundTripper is an http.RoundTripper by a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// closing is a body that notes when it is closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// TestScopeThatCannotBeSent: net/http would make another lock's name of it.
func TestScopeThatCannotBeSent(t *testing.T) {
	sent := false
	transport := &fencehttp.Transport{Base: roundTripper(func(*http.Request) (*http.Response, error) {
		sent = true
		return nil, errors.New("the request is sent")
	})}
	for scope, goes := range map[string]bool{"/orders ": false, "\t/orders": false, "/or ders": true} {
		sent = false
		body := &closing{Reader: strings.NewReader("paid")}
		req, err := http.NewRequest(http.MethodPut, "http://shop/orders/7", body)
		if err != nil {
			t.Fatal(err)
		}
		fencehttp.SetClaim(req.Header, fence.Claim{Scope: scope, Token: 34})
		_, err = transport.RoundTrip(req)
		refused := errors.Is(err, fence.ErrInvalidScope) && fence.OutcomeOf(err) == fence.Definite
		if sent != goes || refused == goes || !goes && !body.closed {
			t.Errorf("scope %q: sent: %v, body closed: %v, %v", scope, sent, body.closed, err)
		}
	}
}

// redirects is a server that sends requests on, some of them to another server. It notes which
// ones came to either, with the token that each shows.
type redirects struct {
	*httptest.Server
	got []string
}

// newRedirects starts both servers, which end with the test.
func newRedirects(t *testing.T) *redirects {
	s := new(redirects)
	note := func(r *http.Request) {
		s.got = append(s.got, r.Method+" "+r.URL.Path+" "+r.Header.Get(fencehttp.HeaderToken))
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note(r) }))
	t.Cleanup(other.Close)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		switch r.URL.Path {
		case "/found":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/temporary":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, other.URL+"/there", http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// redirected is a request, and what becomes of it.
type redirected struct {
	method, path string
	want         []string // as they come to the servers
	fails        bool
}

// check sends a request that shows a claim, if it has one, by a transport.
func (s *redirects) check(ctx context.Context, t *testing.T, transport *fencehttp.Transport, claim fence.Claim, r redirected) {
	t.Helper()
	client := &http.Client{Transport: transport}
	defer client.CloseIdleConnections()
	s.got = nil
	req, err := http.NewRequestWithContext(ctx, r.method, s.URL+r.path, strings.NewReader("paid"))
	if err != nil {
		t.Fatal(err)
	}
	fencehttp.SetClaim(req.Header, claim)
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if !slices.Equal(s.got, r.want) || (err != nil) != r.fails || r.fails && fence.OutcomeOf(err) != fence.Unknown {
		t.Errorf("%s %s: %q, %v, want %q", r.method, r.path, s.got, err, r.want)
	}
}

// TestRedirects: a request with a claim is sent on only where it stays the same one.
func TestRedirects(t *testing.T) {
	s := newRedirects(t)
	for _, tt := range []struct {
		token fence.Token
		redirected
	}{
		{34, redirected{http.MethodPut, "/found", []string{"PUT /found 34"}, true}},
		{34, redirected{http.MethodPut, "/away", []string{"PUT /away 34"}, true}},
		{34, redirected{http.MethodGet, "/away", []string{"GET /away 34"}, true}},
		{34, redirected{http.MethodPut, "/temporary", []string{"PUT /temporary 34", "PUT /here 34"}, false}},
		{34, redirected{http.MethodGet, "/found", []string{"GET /found 34", "GET /here 34"}, false}},
		{0, redirected{http.MethodGet, "/away", []string{"GET /away ", "GET /there "}, false}},
	} {
		s.check(t.Context(), t, &fencehttp.Transport{}, fence.Claim{Token: tt.token}, tt.redirected)
	}
}

// TestClaimOfTheContext: a request shows the claim of the lock that Scope names for it, to no
// other host, and not in the place of a claim that it shows already.
func TestClaimOfTheContext(t *testing.T) {
	var got http.Header
	transport := &fencehttp.Transport{
		Base: roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
		}),
		Scope: func(r *http.Request) string {
			return map[string]string{"shop": "/orders", "depot": "/stock", "bank": "/none"}[r.URL.Host]
		},
	}
	ctx := fence.WithClaim(t.Context(), fence.Claim{Scope: "/orders", Token: 34})
	ctx = fence.WithClaim(ctx, fence.Claim{Scope: "/stock", Token: 7, Sequence: 2})
	ctx = fence.WithClaim(ctx, fence.Claim{Token: 35}) // of no scope, and so for no host
	for _, tt := range []struct {
		host string
		own  fence.Claim // that the request shows already
		want http.Header
	}{
		{"shop", fence.Claim{}, http.Header{"Fencing-Scope": {"/orders"}, "Fencing-Token": {"34"}}},
		{"depot", fence.Claim{}, http.Header{"Fencing-Scope": {"/stock"}, "Fencing-Token": {"7"}, "Fencing-Sequence": {"2"}}},
		{"shop", fence.Claim{Token: 33}, http.Header{"Fencing-Token": {"33"}}},
		{"bank", fence.Claim{}, http.Header{}},
		{"elsewhere", fence.Claim{}, http.Header{}},
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://"+tt.host, nil)
		if err != nil {
			t.Fatal(err)
		}
		fencehttp.SetClaim(req.Header, tt.own)
		before := req.Header.Clone()
		if _, err := transport.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(got, tt.want, slices.Equal) {
			t.Errorf("%s, with %+v of its own: sent %v, want %v", tt.host, tt.own, got, tt.want)
		}
		if !maps.EqualFunc(req.Header, before, slices.Equal) {
			t.Errorf("%s: the caller's request became %v", tt.host, req.Header)
		}
	}
}

// TestRedirectsOfTheContextsClaim: a request that the transport has given a claim is
// redirected as one that has it from the caller, whatever Scope says of where it leads.
func TestRedirectsOfTheContextsClaim(t *testing.T) {
	s := newRedirects(t)
	here := func(r *http.Request) string {
		if r.URL.Host == strings.TrimPrefix(s.URL, "http://") {
			return "/orders"
		}
		return ""
	}
	everywhere := func(*http.Request) string { return "/orders" }
	there := func(r *http.Request) string {
		if here(r) != "" {
			return ""
		}
		return "/orders"
	}
	ctx := fence.WithClaim(t.Context(), fence.Claim{Scope: "/orders", Token: 34})
	for _, tt := range []struct {
		scope func(*http.Request) string
		redirected
	}{
		{here, redirected{http.MethodPut, "/temporary", []string{"PUT /temporary 34", "PUT /here 34"}, false}},
		{here, redirected{http.MethodPut, "/found", []string{"PUT /found 34"}, true}},
		{here, redirected{http.MethodPut, "/away", []string{"PUT /away 34"}, true}},
		{everywhere, redirected{http.MethodPut, "/away", []string{"PUT /away 34"}, true}},
		{everywhere, redirected{http.MethodGet, "/away", []string{"GET /away 34"}, true}},
		{there, redirected{http.MethodPut, "/away", []string{"PUT /away "}, true}},
		{nil, redirected{http.MethodPut, "/away", []string{"PUT /away ", "PUT /there "}, false}},
	} {
		for _, base := range []http.RoundTripper{nil, roundTripper(forgetful)} {
			s.check(ctx, t, &fencehttp.Transport{Base: base, Scope: tt.scope}, fence.Claim{}, tt.redirected)
		}
	}
}

// forgetful is a base whose answers do not name their requests.
func forgetful(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		resp.Request = nil
	}
	return resp, err
}

// idle is a base that notes when its connections are closed.
type idle struct {
	roundTripper
	closed *bool
}

func (i idle) CloseIdleConnections() { *i.closed = true }

// TestCloseIdleConnections: that of http.Client reaches the base.
func TestCloseIdleConnections(t *testing.T) {
	closed := false
	client := &http.Client{Transport: &fencehttp.Transport{Base: idle{closed: &closed}}}
	client.CloseIdleConnections()
	if !closed {
		t.Error("the base still has its connections")
	}
	(&fencehttp.Transport{Base: roundTripper(nil)}).CloseIdleConnections() // of a base that has none
}
