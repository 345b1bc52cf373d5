package drivertest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
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

// Blind is a network that sends each write twice. After the first one, so many reads have no answer.
type Blind struct {
	http.RoundTripper
	Reads int64

	wrote  atomic.Bool
	failed atomic.Int64
}

// ErrBlind is what becomes of a read that has no answer.
var ErrBlind = errors.New("the read has no answer")

// RoundTrip is as http.RoundTripper says.
func (n *Blind) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		defer n.wrote.Store(true)
		return Twice{n.RoundTripper, func(*http.Request) bool { return true }}.RoundTrip(r)
	}
	if n.wrote.Load() && n.failed.Add(1) <= n.Reads {
		return nil, ErrBlind
	}
	return n.RoundTripper.RoundTrip(r)
}

// Renewed returns when a tenure was renewed twice.
func Renewed(t *testing.T, tenure lock.Tenure) {
	t.Helper()
	told := make(chan error)
	tenure.(lock.Renewer).OnRenewal(func(_ time.Duration, err error) {
		select {
		case told <- err:
		case <-tenure.Done():
		}
	})
	for range 2 {
		select {
		case err := <-told:
			if err != nil {
				t.Errorf("a renewal: %v", err)
			}
		case <-tenure.Done():
			t.Fatalf("the tenure ended: %v", tenure.Err())
		}
	}
	_ = tenure.Unlock(t.Context())
}
