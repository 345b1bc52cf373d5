package kvhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Client speaks the /v1 protocol of a storage. An error that does not match
// kv.ErrUnknown is definite: the operation did not and will not happen.
type Client struct {
	url  string
	http *http.Client
}

// NewClient makes a client of the storage at url, like http://127.0.0.1:8080.
func NewClient(url string) *Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Proxy = nil // a lock's holder talks to its storage itself
	return &Client{
		url:  strings.TrimSuffix(url, "/"),
		http: &http.Client{Transport: &fencehttp.Transport{Base: base}},
	}
}

// Close closes idle connections.
func (c *Client) Close() {
	c.http.Transport.(*fencehttp.Transport).Base.(*http.Transport).CloseIdleConnections()
}

// Write stores value at key. duplicate: it had been done before, by an earlier
// request with the same sequence number.
func (c *Client) Write(ctx context.Context, req kv.Request, key, value string) (duplicate bool, err error) {
	return c.change(ctx, http.MethodPut, req, key, value)
}

// Delete removes key.
func (c *Client) Delete(ctx context.Context, req kv.Request, key string) (duplicate bool, err error) {
	return c.change(ctx, http.MethodDelete, req, key, "")
}

func (c *Client) change(ctx context.Context, method string, req kv.Request, key, value string) (bool, error) {
	resp, err := c.do(ctx, method, pathKV+url.PathEscape(key), req, value)
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
		return kv.Item{}, fmt.Errorf("read %q: %w: %w", key, kv.ErrUnknown, err)
	}
	item := kv.Item{Value: string(b)}
	if t := resp.Header.Get(fencehttp.HeaderToken); t != "" {
		if item.Token, err = fence.ParseToken(t); err != nil {
			return kv.Item{}, fmt.Errorf("read %q: the storage says: %w", key, err)
		}
	}
	return item, nil
}

// Mark returns the mark of a scope, zero where it has none.
func (c *Client) Mark(ctx context.Context, scope string) (fence.Mark, error) {
	resp, err := c.do(ctx, http.MethodGet, pathMarks+url.PathEscape(scope), kv.Request{}, "")
	if err != nil {
		return fence.Mark{}, err
	}
	defer resp.Body.Close()
	var m mark
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil {
		return fence.Mark{}, fmt.Errorf("mark of %q: %w", scope, err)
	}
	return fence.Mark{Token: m.Token, Sequence: m.Sequence}, nil
}

// do sends a request; an answer that it returns is a success.
func (c *Client) do(ctx context.Context, method, path string, req kv.Request, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	fencehttp.SetClaim(r.Header, req.Claim)
	if req.ID != "" {
		r.Header.Set(HeaderRequestID, req.ID)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		if fencehttp.ReasonOf(err) != "" || neverSent(err) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", kv.ErrUnknown, err)
	}
	switch {
	case resp.StatusCode < 300:
		return resp, nil
	case resp.StatusCode == http.StatusNotFound && method == http.MethodGet:
		err = kv.ErrNotFound
	default:
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		err = fmt.Errorf("the storage answered %s: %s", resp.Status, strings.TrimSpace(string(b)))
		if resp.StatusCode >= 500 && resp.Header.Get(HeaderOutcome) != OutcomeNone {
			err = fmt.Errorf("%w: %w", kv.ErrUnknown, err)
		}
	}
	resp.Body.Close()
	return nil, err
}

// neverSent: there was not even a connection.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
