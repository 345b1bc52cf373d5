package drivertest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// Twice is a network in which some requests are sent a second time, as by a proxy that has not got the answer to the first one.
// The second answer is the one that is told.
type Twice struct {
	http.RoundTripper
	Some func(*http.Request) bool
}

// RoundTrip is as http.RoundTripper says.
func (n Twice) RoundTrip(r *http.Request) (*http.Response, error) {
	if !n.Some(r) {
		return n.RoundTripper.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	first := r.Clone(r.Context())
	first.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := n.RoundTripper.RoundTrip(first)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return n.RoundTripper.RoundTrip(r)
}

// TwiceProxy is the URL of a proxy before a server, by HTTP, that sends some requests twice.
func TwiceProxy(t *testing.T, addr string, some func(*http.Request) bool) string {
	t.Helper()
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	to.Transport = Twice{http.DefaultTransport, some}
	proxy := httptest.NewServer(to)
	t.Cleanup(proxy.Close)
	return proxy.URL
}
