package fencehttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// Transport is a client's http.RoundTripper that turns a server's refusal back
// into the error that the server's register returned: with an http.Client that
// uses it, errors.As finds the *fence.StaleError with both tokens, and errors.Is
// finds fence.ErrStale, ErrNoToken, ErrInvalidToken or ErrAhead. Every other
// answer passes through as it is.
//
// It does so against the advice of http.RoundTripper not to interpret answers:
// a refusal that a caller forgets to look for is a lost write.
type Transport struct {
	// Base does the work. Nil: http.DefaultTransport.
	Base http.RoundTripper
}

// maxProblem is the largest problem document that is read, in bytes.
const maxProblem = 64 << 10

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media != ContentType {
		return resp, nil
	}
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("fencehttp: status %d, and its problem document is cut short: %w", resp.StatusCode, err)
	}
	var p Problem
	if json.Unmarshal(doc, &p) == nil {
		if err := p.Err(); err != nil {
			return nil, err
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(doc))
	return resp, nil
}
