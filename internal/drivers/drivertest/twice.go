package drivertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Twice is a network in which some requests are sent a second time, as by a proxy that has not got the answer to the first one.
// The sender gets the answer to the second request.
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

func writes(r *http.Request) bool { return r.Method != http.MethodGet }

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
	if writes(r) {
		defer n.wrote.Store(true)
		return Twice{n.RoundTripper, writes}.RoundTrip(r)
	}
	if n.wrote.Load() && n.failed.Add(1) <= n.Reads {
		return nil, ErrBlind
	}
	return n.RoundTripper.RoundTrip(r)
}

// TakenTwiceUnread: a write that was sent twice has taken the lock, and the read that would tell has no answer. The attempt
// frees the lock, or says that it may be taken. open opens a backend by a client, and other is another one.
func TakenTwiceUnread(t *testing.T, net http.RoundTripper, other lock.Backend, scope string, open func(*http.Client) (lock.Backend, error)) {
	t.Helper()
	for _, tt := range []struct {
		reads int64
		want  fence.Outcome
		then  error // what the other one gets
	}{{1, fence.Definite, nil}, {math.MaxInt64, fence.Unknown, lock.ErrLocked}} {
		b, err := open(&http.Client{Transport: &Blind{RoundTripper: net, Reads: tt.reads}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.TryLock(t.Context(), scope); !errors.Is(err, ErrBlind) || fence.OutcomeOf(err) != tt.want {
			t.Errorf("%d reads fail: %v, %v, want %v", tt.reads, err, fence.OutcomeOf(err), tt.want)
		}
		tenure, err := other.TryLock(t.Context(), scope)
		if !errors.Is(err, tt.then) {
			t.Errorf("%d reads fail: another one gets %v, want %v", tt.reads, err, tt.then)
		}
		if tenure != nil {
			_ = tenure.Unlock(t.Context())
		}
	}
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

// ChangedTwiceUnread: a change that was sent twice is done, and the read that would tell has no answer, or nobody waits for it.
// The error does not say that nothing was done. open opens a store by a client.
func ChangedTwiceUnread(t *testing.T, net http.RoundTripper, open func(*http.Client) (change func(context.Context) error, err error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	blind, hasty := &Blind{RoundTripper: net, Reads: math.MaxInt64}, &hasty{RoundTripper: net}
	for _, tt := range []struct {
		ctx  context.Context
		net  http.RoundTripper
		want error
	}{{t.Context(), blind, ErrBlind}, {ctx, hasty, context.Canceled}} {
		hasty.cancel = nil
		change, err := open(&http.Client{Transport: tt.net})
		if err != nil {
			t.Fatal(err)
		}
		blind.wrote.Store(false) // whatever open has written
		hasty.cancel = cancel
		if err := change(tt.ctx); !errors.Is(err, tt.want) || fence.OutcomeOf(err) != fence.Unknown {
			t.Errorf("the change returned %v, %v, want %v, and that it is unknown", err, fence.OutcomeOf(err), tt.want)
		}
	}
}

// hasty is a network that sends each write twice, and whose sender cancels when it has the answer.
type hasty struct {
	http.RoundTripper
	cancel func() // nil: it waits
}

// RoundTrip is as http.RoundTripper says.
func (n *hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := Twice{n.RoundTripper, writes}.RoundTrip(r)
	if err != nil || !writes(r) || n.cancel == nil {
		return resp, err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(said))
	n.cancel()
	return resp, err
}
