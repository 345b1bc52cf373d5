package kvhttp

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Client speaks the /v1 protocol of a storage. fence.OutcomeOf says what is known by an error.
type Client struct {
	url  string
	base http.RoundTripper
	http *http.Client
}

// ClientOptions may be left zero.
type ClientOptions struct {
	// TLS for an https URL. Nil: the system's authorities, and no certificate of the client's own.
	TLS *tls.Config
	// Bearer is the secret of a bearer token; empty: none is shown.
	Bearer string
	// Around is put around what sends the requests of a Client, as tracing.Transport. Nil: nothing is.
	Around func(http.RoundTripper) http.RoundTripper
}

// NewTransport sends requests as o says, and through no proxy: a lock's holder talks to its storage itself.
func NewTransport(o ClientOptions) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.TLSClientConfig = o.TLS
	if o.Bearer == "" {
		return t
	}
	return &bearer{t, "Bearer " + o.Bearer}
}

// bearer shows a bearer token with each request.
type bearer struct {
	*http.Transport
	header string
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // the caller's must stay as it is
	r.Header.Set("Authorization", b.header)
	return b.Transport.RoundTrip(r)
}

// NewClient makes a client of the storage at url, like http://127.0.0.1:8080.
func NewClient(url string, o ClientOptions) *Client {
	c := &Client{url: strings.TrimSuffix(url, "/"), base: NewTransport(o)}
	sends := c.base
	if o.Around != nil {
		sends = o.Around(sends)
	}
	c.http = &http.Client{Transport: &fencehttp.Transport{Base: sends}, CheckRedirect: stay}
	return c
}

// stay follows no redirect: a PUT would become a GET on the way, and its success would pass for that of the write.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close closes idle connections.
func (c *Client) Close() { c.base.(interface{ CloseIdleConnections() }).CloseIdleConnections() }

// Raise raises the floor, and says how many marks that dropped.
func (c *Client) Raise(ctx context.Context, token fence.Token) (dropped int, err error) {
	var f floor
	err = c.ask(ctx, http.MethodPut, pathFloor, fmt.Sprintf(`{"token":"%d"}`, token), &f)
	return f.Dropped, err
}

// Write stores value at key. duplicate: it had been done before, by an earlier request with the same sequence number.
func (c *Client) Write(ctx context.Context, req kv.Request, key, value string) (duplicate bool, err error) {
	return c.change(ctx, http.MethodPut, req, pathKV+url.PathEscape(key), value)
}

// Delete removes key.
func (c *Client) Delete(ctx context.Context, req kv.Request, key string) (duplicate bool, err error) {
	return c.change(ctx, http.MethodDelete, req, pathKV+url.PathEscape(key), "")
}

// Batch does all ops or none.
func (c *Client) Batch(ctx context.Context, req kv.Request, ops ...kv.Op) (duplicate bool, err error) {
	var in batch
	for i, op := range ops {
		if !utf8.ValidString(op.Key) || !utf8.ValidString(op.Value) {
			return false, fence.Definite.New(fmt.Sprintf("ops[%d]: %q is not UTF-8, which a batch must be: write it by itself", i, op.Key))
		}
		wire := batchOp{Op: op.Kind, Key: op.Key}
		if op.Kind == kv.OpWrite {
			wire.Val = &op.Value
		}
		in.Ops = append(in.Ops, wire)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return false, err
	}
	return c.change(ctx, http.MethodPost, req, pathBatch, string(body))
}

func (c *Client) change(ctx context.Context, method string, req kv.Request, path, body string) (bool, error) {
	resp, err := c.do(ctx, method, path, req, body)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	return resp.Header.Get(fencehttp.HeaderDuplicate) == "true", nil
}

// Read returns the value at key, or kv.ErrNotFound.
func (c *Client) Read(ctx context.Context, req kv.Request, key string) (kv.Item, error) {
	resp, err := c.do(ctx, http.MethodGet, pathKV+url.PathEscape(key), req, "")
	if err != nil {
		return kv.Item{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return kv.Item{}, unknown(fmt.Errorf("read %q: %w", key, err))
	}
	item := kv.Item{Value: string(b)}
	if t := resp.Header.Get(fencehttp.HeaderToken); t != "" {
		if item.Token, err = fence.ParseToken(t); err != nil {
			// The cause is not wrapped: it would pass for a refusal of our token.
			return kv.Item{}, unknown(fmt.Errorf("read %q: the storage says: %v", key, err))
		}
	}
	return item, nil
}

// Mark returns the mark of a scope, zero where it has none.
func (c *Client) Mark(ctx context.Context, scope string) (fence.Mark, error) {
	var m mark
	if err := c.ask(ctx, http.MethodGet, pathMarks+url.PathEscape(scope), "", &m); err != nil {
		return fence.Mark{}, err
	}
	return fence.Mark{Token: m.Token, Sequence: m.Sequence, Shared: m.Shared}, nil
}

// ask sends a request without a claim, and reads the JSON that answers it.
func (c *Client) ask(ctx context.Context, method, path, body string, answer any) error {
	resp, err := c.do(ctx, method, path, kv.Request{}, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return unknown(fmt.Errorf("%s %s: %w", method, path, err))
	}
	return nil
}

// do sends a request; an answer that it returns is a success.
func (c *Client) do(ctx context.Context, method, path string, req kv.Request, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	fencehttp.SetClaim(r.Header, req.Claim)
	if req.ID != "" {
		r.Header.Set(HeaderRequestID, req.ID)
	}
	if method == http.MethodGet && req.Token != 0 {
		// net/http sends a GET again when its connection breaks, but this one raises the mark: the answer to the
		// second would be taken for that to the first. A body that cannot be had again keeps it from that.
		r.Body, r.GetBody = io.NopCloser(strings.NewReader("")), nil
	}
	resp, err := c.http.Do(r)
	switch {
	case fencehttp.ReasonOf(err) != "":
		return nil, err
	case neverSent(err):
		return nil, fence.Definite.Wrap(err)
	case err != nil:
		return nil, unknown(err)
	case resp.StatusCode < 300:
		return resp, nil
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound && method == http.MethodGet {
		return nil, kv.ErrNotFound
	}
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	err = fmt.Errorf("the storage answered %s: %s", resp.Status, strings.TrimSpace(string(b)))
	// Below 400: this is no storage.
	if resp.StatusCode < 400 || resp.StatusCode >= 500 && resp.Header.Get(HeaderOutcome) != OutcomeNone {
		return nil, unknown(err)
	}
	return nil, fence.Definite.Wrap(err)
}

func unknown(err error) error {
	return fence.Unknown.Wrap(fmt.Errorf("the outcome is unknown: %w", err))
}

// neverSent: there was not even a connection.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
