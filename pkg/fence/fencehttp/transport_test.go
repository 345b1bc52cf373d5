package fencehttp_test

import (
	"errors"
	"io"
	"net/http"
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
