package fencehttp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/textproto"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Transport is a client's http.RoundTripper that turns a server's refusal back
// into the error that the server's register returned: with an http.Client that
// uses it, errors.As finds the *fence.StaleError with both tokens, and errors.Is
// finds fence.ErrStale, ErrNoToken, ErrInvalidToken, ErrInvalidSequence,
// ErrInvalidMode, ErrInvalidScope or ErrAhead. Every other answer passes through as it is.
//
// Where there is no whole document, as with HEAD, the headers of the answer tell
// of the refusal; its scope is then the one that the request named, if any.
//
// A request whose scope has white space around it is not sent: net/http would take the
// white space off, and the server would see another lock's name.
//
// A redirect is followed where the method and the host stay the same. Otherwise a write
// would become a read whose success passes for that of the write, or another host would
// get the token.
//
// It turns refusals into errors against the advice of http.RoundTripper not to interpret answers:
// a refusal that a caller forgets to look for is a lost write.
type Transport struct {
	// Base does the work. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Scope names the lock whose claim a request shows. The request's context carries the
	// claim; see fence.WithClaim. Scope answers by the request's host, so that no other
	// server gets the claim. Where Scope is nil or returns "", or the context carries no
	// claim of that scope, the request goes as it is. So does one that shows a claim
	// already, as by SetClaim.
	Scope func(*http.Request) string
}

// maxProblem is the largest problem document that is understood, in bytes.
const maxProblem = 64 << 10

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = t.claiming(req)
	if err := cmp.Or(checkSent(req.Header[HeaderScope]), checkRedirected(req)); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as a RoundTripper does also where it fails
		}
		return nil, err
	}
	resp, err := t.base().RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if resp.Request == nil {
		resp.Request = req // the claim of it says whether a redirect is followed
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != ContentType && resp.Header.Get(HeaderRefused) == "" {
		return resp, nil
	}
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem+1))
	var p Problem
	var refused error
	if err == nil && json.Unmarshal(doc, &p) == nil {
		refused = p.Err()
	}
	if refused == nil {
		refused = headerProblem(req, resp.Header).Err()
	}
	body := resp.Body
	switch {
	case refused != nil:
		_ = body.Close() // all that matters has been read
		return nil, refused
	case err != nil:
		_ = body.Close()
		return nil, fmt.Errorf("fencehttp: status %d, and its problem document is cut short: %w", resp.StatusCode, err)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(doc), body), body}
	return resp, nil
}

// CloseIdleConnections closes those of Base, for the method of http.Client with this name.
func (t *Transport) CloseIdleConnections() {
	if closer, can := t.base().(interface{ CloseIdleConnections() }); can {
		closer.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// claiming returns req with the claim that its context carries for it, if any.
func (t *Transport) claiming(req *http.Request) *http.Request {
	if t.Scope == nil || claims(req.Header) {
		return req
	}
	scope := t.Scope(req)
	if scope == "" {
		return req
	}
	c, _ := fence.ClaimOf(req.Context(), scope) // where there is none, nothing is sent
	req = req.Clone(req.Context())              // a RoundTripper leaves the caller's own as it is
	SetClaim(req.Header, c)
	return req
}

// checkRedirected refuses a request to which a redirect has led where it is another one
// than what was redirected, and either of them shows a claim.
func checkRedirected(req *http.Request) error {
	if req.Response == nil {
		return nil
	}
	before := req.Response.Request
	if !claims(req.Header) && (before == nil || !claims(before.Header)) {
		return nil
	}
	if before != nil && before.Method == req.Method && before.URL.Scheme == req.URL.Scheme && before.URL.Host == req.URL.Host {
		return nil
	}
	return fence.Unknown.Wrap(fmt.Errorf("fencehttp: status %d leads to %s %s, which another method or host makes another request: not followed; what became of the first one is not known",
		req.Response.StatusCode, req.Method, req.URL.Redacted()))
}

// checkSent refuses scopes that net/http would change on the way.
func checkSent(scopes []string) error {
	for _, scope := range scopes {
		if textproto.TrimString(scope) != scope {
			return headerError(HeaderScope, fmt.Errorf("%w: %q begins or ends with white space; nothing was sent", fence.ErrInvalidScope, scope))
		}
	}
	return nil
}
