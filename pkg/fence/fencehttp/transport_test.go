package fencehttp_test

import (
	"errors"
	"io"
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
