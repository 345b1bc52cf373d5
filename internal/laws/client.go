package laws

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// What a storage may cost who asks it.
const (
	maxAnswer  = 1 << 20  // bytes of a body
	maxHeaders = 64 << 10 // bytes of the headers
	underWay   = 5        // requests at a time: many servers let no more connections wait
	maxLogged  = 1 << 12  // requests that are kept
	maxShown   = 200      // bytes of a body that are kept
)

// Exchange is a request and what came of it.
type Exchange struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Header []string `json:"header,omitempty"` // "Name: value"
	Body   string   `json:"body,omitempty"`
	Late   bool     `json:"late,omitempty"`   // the body was sent after the next request
	Status int      `json:"status,omitempty"` // 0: there was no answer
	Answer string   `json:"answer,omitempty"` // the beginning of it
	Error  string   `json:"error,omitempty"`  // why there is no answer
}

func isLate(e Exchange) bool { return e.Late }

// asked is what was asked, in a few words.
func (e Exchange) asked() string {
	text := e.Method + " " + e.Path
	for _, h := range e.Header {
		text += ", " + h
	}
	return text
}

// UnansweredError says that a storage left open what became of a request.
type UnansweredError struct {
	Storage string // its URL
	Asked   string // the request
	Did     string // what it did, such as "closed the connection without an answer"
	Err     error  // may be nil
}

func (e *UnansweredError) Error() string {
	return fmt.Sprintf("the storage at %s %s (asked: %s)", e.Storage, e.Did, e.Asked)
}

func (e *UnansweredError) Unwrap() error { return e.Err }

// answer is what a storage said.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) ok() bool      { return a.status >= 200 && a.status < 300 }
func (a answer) refused() bool { return a.status >= 400 && a.status < 500 }

func (a answer) String() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)))
	if said := strings.TrimSpace(shown(a.body)); said != "" {
		text += ": " + said
	}
	return text
}

// client asks storages, and keeps what was asked. Each request has a connection of its own:
// a server that serves one connection at a time can be asked by several.
type client struct {
	http    *http.Client
	timeout time.Duration
	slots   chan struct{}

	mu    sync.Mutex
	log   []Exchange
	asked int // with those that were not kept
}

func newClient(timeout time.Duration) *client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy, t.DisableKeepAlives, t.DisableCompression = nil, true, true
	t.MaxResponseHeaderBytes = maxHeaders
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} // HTTP/1.1 alone
	return &client{
		http:    &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		timeout: timeout,
		slots:   make(chan struct{}, underWay),
	}
}

// forget begins a new log.
func (c *client) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log, c.asked = nil, 0
}

// logged returns the requests that were kept, and how many there were.
func (c *client) logged() ([]Exchange, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log, c.asked
}

func (c *client) keep(e Exchange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if len(c.log) < maxLogged {
		c.log = append(c.log, e)
	}
}

// ask sends a request, and returns any answer that is one. The error is an
// *UnansweredError.
func (c *client) ask(ctx context.Context, base string, e Exchange) (answer, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	a, err := c.roundTrip(ctx, base, e)
	return a, c.note(base, e, a, err)
}

// note keeps what came of a request, and returns the error that says it.
func (c *client) note(base string, e Exchange, a answer, err error) error {
	e.Status, e.Answer = a.status, shown(a.body)
	if err != nil {
		err = &UnansweredError{Storage: base, Asked: e.asked(), Did: c.did(err), Err: err}
		e.Status, e.Answer, e.Error = 0, "", err.Error()
	}
	e.Body = shown(e.Body)
	c.keep(e)
	return err
}

func (c *client) roundTrip(ctx context.Context, base string, e Exchange) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, e.Method, base+e.Path, strings.NewReader(e.Body))
	if err != nil {
		return answer{}, err
	}
	for _, h := range e.Header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	return read(resp)
}

var errTooLarge = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// read reads a whole answer.
func read(resp *http.Response) (answer, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLarge
	}
	return answer{resp.StatusCode, resp.Header, string(body)}, err
}

// did says what a storage did that gave no answer.
func (c *client) did(err error) string {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "was not waited for"
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("gave no whole answer within %v", c.timeout)
	case errors.Is(err, errTooLarge):
		return fmt.Sprintf("answered with more than %d bytes", maxAnswer)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "takes no connections"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "ended its answer before the end that it had announced"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "closed the connection without an answer"
	}
	return fmt.Sprintf("gave no answer that is HTTP (%v)", err)
}

// shown is the beginning of a text.
func shown(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}
