package jvm

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
)

type web struct {
	jvm   *process
	alone bool
}

// Transport sends requests from the JVM, each alone over a connection of its own, or not.
func (c *Client) Transport(alone bool) http.RoundTripper { return web{c.process, alone} }

func (w web) RoundTrip(r *http.Request) (*http.Response, error) {
	fields := url.Values{"method": {r.Method}, "url": {r.URL.String()}}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
		fields.Set("body", string(body))
	}
	if w.alone {
		fields.Set("alone", "true")
	}
	for name := range r.Header {
		fields.Add("header", name+": "+r.Header.Get(name))
	}
	said, err := w.jvm.ask(r.Context(), "send", fields, 0)
	if err != nil {
		return nil, err
	}
	if text := said.Get("refused"); text != "" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(text)}
	}
	status, err := strconv.Atoi(said.Get("status"))
	if err != nil {
		return nil, fmt.Errorf("the JVM answers %q: %w", said, err)
	}
	answer := &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(strings.NewReader(said.Get("body"))), ContentLength: int64(len(said.Get("body"))), Request: r,
	}
	for _, header := range said["header"] {
		name, value, _ := strings.Cut(header, ": ")
		answer.Header.Add(textproto.CanonicalMIMEHeaderKey(name), value)
	}
	return answer, nil
}
