package laws

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
)

// What a storage may cost who asks it.
const (
	underWay  = 5       // requests at a time: many servers let no more connections wait
	maxLogged = 1 << 12 // requests that are kept
)

type Exchange struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Header []string `json:"header,omitempty"` // "Name: value"
	Body   string   `json:"body,omitempty"`
	Late   bool     `json:"late,omitempty"`   // the body was sent after the next request
	Kept   bool     `json:"kept,omitempty"`   // it came on the connection of the request before
	Status int      `json:"status,omitempty"` // 0: there was no answer
	Answer string   `json:"answer,omitempty"` // the beginning of it
	Error  string   `json:"error,omitempty"`  // why there is no answer
}

func (e Exchange) asked() string {
	text := e.Method + " " + e.Path
	for _, h := range e.Header {
		text += ", " + h
	}
	return text
}

// UnansweredError says that a storage left open what became of a request.
type UnansweredError struct {
	Storage string // its URL; "": who has the error knows which one it is
	Asked   string // the request
	Did     string // what it did, such as "closed the connection without an answer"
	Err     error  // may be nil
}

func (e *UnansweredError) Error() string {
	who := "it"
	if e.Storage != "" {
		who = "the storage at " + e.Storage
	}
	return fmt.Sprintf("%s %s (asked: %s)", who, e.Did, e.Asked)
}

func (e *UnansweredError) Unwrap() error { return e.Err }

type client struct {
	http    *http.Client // each request has a connection of its own
	kept    *http.Client // they follow one another on one connection
	timeout time.Duration
	slots   chan struct{}

	mu    sync.Mutex
	log   []Exchange
	asked int // with those that were not kept
}

func newClient(timeout time.Duration) *client {
	kept := program.NewTransport()
	kept.DisableKeepAlives = false
	return &client{
		http:    newHTTP(program.NewTransport()),
		kept:    newHTTP(kept),
		timeout: timeout,
		slots:   make(chan struct{}, underWay),
	}
}

// newHTTP goes where it is sent, and no further.
func newHTTP(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (c *client) forget() {
	c.kept.CloseIdleConnections()
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

// ask sends a request, and returns any answer. The error is an *UnansweredError. A connection that was left open
// may close under a request: then that is made once more.
func (c *client) ask(ctx context.Context, base string, e Exchange) (program.Answer, error) {
	if e.Kept {
		a, err := c.askOnce(ctx, base, e)
		if err == nil {
			return a, nil
		}
		e.Kept = false
	}
	return c.askOnce(ctx, base, e)
}

func (c *client) askOnce(ctx context.Context, base string, e Exchange) (program.Answer, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return program.Answer{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	a, err := c.roundTrip(ctx, base, e)
	return a, c.note(base, e, a, err)
}

// note keeps what came of a request, and returns the error that says it.
func (c *client) note(base string, e Exchange, a program.Answer, err error) error {
	e.Status, e.Answer = a.Status, program.Shown(a.Body)
	if err != nil {
		err = &UnansweredError{Storage: base, Asked: e.asked(), Did: program.Did(err, c.timeout), Err: err}
		e.Status, e.Answer, e.Error = 0, "", err.Error()
	}
	e.Body = program.Shown(e.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if len(c.log) < maxLogged {
		c.log = append(c.log, e)
	}
	return err
}

func (c *client) roundTrip(ctx context.Context, base string, e Exchange) (program.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, e.Method, base+e.Path, strings.NewReader(e.Body))
	if err != nil {
		return program.Answer{}, err
	}
	for _, h := range e.Header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header[name] = append(req.Header[name], value) // as the name is spelled
	}
	by := c.http
	if e.Kept {
		by = c.kept
	}
	resp, err := by.Do(req)
	if err != nil {
		return program.Answer{}, err
	}
	defer resp.Body.Close()
	return program.Read(resp)
}
