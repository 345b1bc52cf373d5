package laws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// place is where a storage is: already there, or run by commands. Two URLs or commands work on the same data.
type place struct {
	given    []string // URLs of one that is there already
	commands []string
	group    *proc.Group // of those that commands run; nil: none do
	begun    int         // how many directories there were
	storages []*program.Server
}

func (p *place) runs() bool { return len(p.commands) > 0 }

func (p *place) String() string { return strings.Join(slices.Concat(p.given, p.commands), " and ") }

// args are those of gcsim that name it, for a shell.
func (p *place) args() string {
	args := slices.Clone(p.given)
	for _, command := range p.commands {
		args = append(args, "--command "+ShellWord(command))
	}
	return strings.Join(args, " ")
}

// ShellWord is a text as one word of a line for a shell.
func ShellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// hasDir reports whether a storage is told where its files can lie.
func (p *place) hasDir() bool {
	return slices.ContainsFunc(p.commands, func(command string) bool { return strings.Contains(command, "{dir}") })
}

// starts has lines for a shell that start the storage again where it was, in directories that are new.
func (p *place) starts(name string) (lines []string) {
	for i, s := range p.storages {
		dir := filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d", name, i+1))
		lines = append(lines, fmt.Sprintf("mkdir -p '%s'; exec %s >/dev/null &", dir, s.Line(dir)),
			fmt.Sprintf("curl -s --retry 30 --retry-delay 1 --retry-connrefused '%s/' >/dev/null   # until it listens", s.URL()))
	}
	return lines
}

// fresh makes a storage of commands empty: it ends, and another one starts in a directory of its own.
func (p *place) fresh(ctx context.Context) error {
	if err := p.kill(); err != nil {
		return err
	}
	p.begun++
	p.storages = nil
	for i, command := range p.commands {
		dir := filepath.Join(p.group.Dir, fmt.Sprintf("data-%d", p.begun))
		s, err := program.New(p.group, fmt.Sprintf("storage %d", i+1), command, dir)
		if err != nil {
			return err
		}
		p.storages = append(p.storages, s)
	}
	return p.start(ctx)
}

// restart ends the storage as kill -9 does, and starts it again on what it has kept.
func (p *place) restart(ctx context.Context) error { return errors.Join(p.kill(), p.start(ctx)) }

func (p *place) start(ctx context.Context) error {
	for _, s := range p.storages {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *place) kill() error {
	var errs []error
	for _, s := range p.storages {
		errs = append(errs, s.Kill())
	}
	return errors.Join(errs...)
}

func (p *place) end() error {
	if p.group == nil {
		return nil
	}
	return errors.Join(p.kill(), p.group.Close())
}

func (p *place) urls() []string {
	urls := slices.Clone(p.given)
	for _, s := range p.storages {
		urls = append(urls, s.URL())
	}
	return urls
}

// ended says how a process of the storage that does not answer has ended; nil: none that is known.
func (p *place) ended() error {
	soon := time.After(time.Second) // for so long one that does not answer may take to end
	for _, s := range p.storages {
		if err := s.Ended(soon); err != nil {
			return err
		}
	}
	return nil
}

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
	Form   string   `json:"form,omitempty"`   // in which it was sent, as curl's flag; "": as usual
	Status int      `json:"status,omitempty"` // 0: there was no answer
	Answer string   `json:"answer,omitempty"` // the beginning of it
	Error  string   `json:"error,omitempty"`  // why there is no answer
}

func (e Exchange) asked() string {
	asked := strings.Join(append([]string{e.Method + " " + e.Path}, e.Header...), ", ")
	if strings.ContainsFunc(asked, unicode.IsControl) { // a terminal would obey it
		return strconv.Quote(asked)
	}
	return asked
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
	proxied *http.Client // requests have the form that a proxy gets
	h2c     *http.Client // HTTP/2 without TLS
	timeout time.Duration
	slots   chan struct{}

	mu    sync.Mutex
	log   []Exchange
	asked int // with those that were not kept
}

func newClient(timeout time.Duration) *client {
	kept := program.NewTransport()
	kept.DisableKeepAlives = false
	proxied := program.NewTransport()
	proxied.Proxy = func(r *http.Request) (*url.URL, error) { return &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host}, nil }
	h2c := program.NewTransport()
	h2c.TLSNextProto, h2c.Protocols = nil, new(http.Protocols)
	h2c.Protocols.SetUnencryptedHTTP2(true)
	return &client{
		http:    newHTTP(program.NewTransport()),
		kept:    newHTTP(kept),
		proxied: newHTTP(proxied),
		h2c:     newHTTP(h2c),
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

// Forms of a request.
const (
	formHTTP10  = "--http1.0"
	formProxied = `-x "$URL"`
	formH2C     = "--http2-prior-knowledge"
)

func (c *client) roundTrip(ctx context.Context, base string, e Exchange) (program.Answer, error) {
	if e.Form == formHTTP10 {
		conn, err := dial(ctx, base, e, contentLength(len(e.Body)))
		if err != nil {
			return program.Answer{}, err
		}
		defer conn.Close()
		return finish(conn, e.Body, c.timeout)
	}
	req, err := http.NewRequestWithContext(ctx, e.Method, base+e.Path, strings.NewReader(e.Body))
	if err != nil {
		return program.Answer{}, err
	}
	for _, h := range e.Header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header[name] = append(req.Header[name], value) // as the name is spelled
	}
	if slices.Contains(e.Header, chunked) {
		req.ContentLength = -1 // of which net/http makes that header
	}
	by := c.http
	switch {
	case e.Kept:
		by = c.kept
	case e.Form == formProxied:
		by = c.proxied
	case e.Form == formH2C:
		by = c.h2c
	}
	resp, err := by.Do(req)
	if err != nil {
		return program.Answer{}, err
	}
	defer resp.Body.Close()
	return program.Read(resp)
}
