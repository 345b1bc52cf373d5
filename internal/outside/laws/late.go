package laws

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
)

// How long headers may take to be read, of which nothing tells, and how long a holder's write is held up.
const (
	headersRead = 500 * time.Millisecond
	heldUp      = 2 * time.Second
)

type lateBody struct {
	what    string
	size    int
	chunked bool // its length is not told before
	expects bool // the storage is asked whether it wants the body
	must    bool // a storage has to take it; others it may refuse
}

var lateBodies = []lateBody{
	{what: "body", size: 4, must: true},
	{what: "body of 256 KiB", size: 256 << 10}, // which a storage may pass on as it comes
	{what: "chunked body", size: 4, chunked: true},
	{what: "body after Expect: 100-continue", size: 4, expects: true},
}

func lateBodyIsNoWayIn(s *steps) {
	for i, body := range lateBodies {
		if s.err == nil {
			body.isNoWayIn(s, fence.Token(36+2*i))
		}
	}
}

// isNoWayIn makes a write with a token, whose body comes after a write with the next token.
func (b lateBody) isNoWayIn(s *steps, old fence.Token) {
	late := Exchange{Method: http.MethodPut, Path: s.path(key), Header: s.header(claim(old)), Body: "late", Late: true}
	ctx, cancel := context.WithTimeout(s.ctx, s.client.timeout)
	defer cancel()
	conn, err := dial(ctx, s.base, late, b.framing())
	if err != nil {
		s.err = s.client.note(s.base, late, program.Answer{}, err)
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	time.Sleep(headersRead) // stands for no event that can be seen
	value := fmt.Sprintf("new %d", old+1)
	written, over := error(nil), make(chan struct{})
	go func() {
		defer close(over)
		written = s.Write(ctx, claim(old+1), key, value)
	}()
	select {
	case <-over:
	case <-time.After(heldUp): // it serves one at a time
	}
	a, err := finish(conn, b.text(), s.client.timeout)
	if err == nil {
		_ = s.client.note(s.base, late, a, nil)
	}
	if <-over; written != nil {
		s.fail("a write with token %d, while the %s of a write with %d was on its way: %w", old+1, b.what, old, written)
	}
	if err != nil && b.must {
		s.fail("a write with token %d whose %s came late: %w", old, b.what, s.client.note(s.base, late, program.Answer{}, err))
	}
	s.stays(value, fmt.Sprintf("a write with token %d whose headers came before that with %d, and its %s after it,", old, old+1, b.what))
	s.write(old, "stale", fence.ErrStale)
}

func (b lateBody) framing() string {
	switch {
	case b.chunked:
		return chunked
	case b.expects:
		return contentLength(b.size) + "\r\nExpect: 100-continue"
	}
	return contentLength(b.size)
}

// chunked is the header of a body that comes in chunks.
const chunked = "Transfer-Encoding: chunked"

func contentLength(n int) string { return fmt.Sprintf("Content-Length: %d", n) }

func (b lateBody) text() string {
	body := strings.Repeat("late", b.size/4)
	if b.chunked {
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	return body
}

func finish(conn net.Conn, body string, within time.Duration) (a program.Answer, err error) {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return a, err
	}
	if _, err := io.WriteString(conn, body); err != nil {
		return a, err
	}
	in := bufio.NewReader(io.LimitReader(conn, program.MaxHeaders+program.MaxAnswer))
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return a, err
		}
		if resp.StatusCode < 200 { // the storage wants the body, which it has
			continue
		}
		defer resp.Body.Close()
		return program.Read(resp)
	}
}

// dial sends all of a request but its body. framing has the headers that say how long that is.
func dial(ctx context.Context, base string, e Exchange, framing string) (net.Conn, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	dial, port := new(net.Dialer).DialContext, "80"
	if u.Scheme == "https" {
		dial, port = new(tls.Dialer).DialContext, "443"
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	if err != nil {
		return nil, err
	}
	version := "HTTP/1.1"
	if e.Form == formHTTP10 {
		version = "HTTP/1.0"
	}
	lines := append([]string{fmt.Sprintf("%s %s%s %s", e.Method, u.EscapedPath(), e.Path, version), "Host: " + u.Host, "Connection: close"}, e.Header...)
	_, err = fmt.Fprintf(conn, "%s\r\n%s\r\n\r\n", strings.Join(lines, "\r\n"), framing)
	return conn, err
}
