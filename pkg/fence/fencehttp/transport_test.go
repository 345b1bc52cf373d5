package fencehttp_test

import (
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

// TestRedirects: a request with a claim is sent on only where it stays the same one.
func TestRedirects(t *testing.T) {
	var got []string
	note := func(r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get(fencehttp.HeaderToken))
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note(r) }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(r)
		status := map[string]int{"/found": http.StatusFound, "/temporary": http.StatusTemporaryRedirect, "/away": http.StatusTemporaryRedirect}[r.URL.Path]
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, other.URL+"/there", status)
		case status != 0:
			http.Redirect(w, r, "/here", status)
		}
	}))
	defer srv.Close()
	client := &http.Client{Transport: &fencehttp.Transport{}}
	defer client.CloseIdleConnections()
	for _, tt := range []struct {
		method, path string
		token        fence.Token
		want         []string
		fails        bool
	}{
		{http.MethodPut, "/found", 34, []string{"PUT /found 34"}, true},
		{http.MethodPut, "/away", 34, []string{"PUT /away 34"}, true},
		{http.MethodGet, "/away", 34, []string{"GET /away 34"}, true},
		{http.MethodPut, "/temporary", 34, []string{"PUT /temporary 34", "PUT /here 34"}, false},
		{http.MethodGet, "/found", 34, []string{"GET /found 34", "GET /here 34"}, false},
		{http.MethodGet, "/away", 0, []string{"GET /away ", "GET /there "}, false},
	} {
		got = nil
		req, err := http.NewRequest(tt.method, srv.URL+tt.path, strings.NewReader("paid"))
		if err != nil {
			t.Fatal(err)
		}
		fencehttp.SetClaim(req.Header, fence.Claim{Token: tt.token})
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		if !slices.Equal(got, tt.want) || (err != nil) != tt.fails || tt.fails && fence.OutcomeOf(err) != fence.Unknown {
			t.Errorf("%s %s: %q, %v, want %q", tt.method, tt.path, got, err, tt.want)
		}
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
	var got []string
	note := func(r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path+" "+r.Header.Get(fencehttp.HeaderToken))
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { note(r) }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	defer srv.Close()
	here := func(r *http.Request) string {
		if r.URL.Host == strings.TrimPrefix(srv.URL, "http://") {
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
	for _, tt := range []struct {
		method, path string
		scope        func(*http.Request) string
		want         []string
		fails        bool
	}{
		{http.MethodPut, "/temporary", here, []string{"PUT /temporary 34", "PUT /here 34"}, false},
		{http.MethodPut, "/found", here, []string{"PUT /found 34"}, true},
		{http.MethodPut, "/away", here, []string{"PUT /away 34"}, true},
		{http.MethodPut, "/away", everywhere, []string{"PUT /away 34"}, true},
		{http.MethodGet, "/away", everywhere, []string{"GET /away 34"}, true},
		{http.MethodPut, "/away", there, []string{"PUT /away "}, true},
		{http.MethodPut, "/away", nil, []string{"PUT /away ", "PUT /there "}, false},
	} {
		client := &http.Client{Transport: &fencehttp.Transport{Scope: tt.scope}}
		got = nil
		ctx := fence.WithClaim(t.Context(), fence.Claim{Scope: "/orders", Token: 34})
		req, err := http.NewRequestWithContext(ctx, tt.method, srv.URL+tt.path, strings.NewReader("paid"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		client.CloseIdleConnections()
		if !slices.Equal(got, tt.want) || (err != nil) != tt.fails || tt.fails && fence.OutcomeOf(err) != fence.Unknown {
			t.Errorf("%s %s: %q, %v, want %q", tt.method, tt.path, got, err, tt.want)
		}
	}
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
