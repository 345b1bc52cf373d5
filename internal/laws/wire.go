package laws

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/foreign"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// wire are the laws that only HTTP can break.
var wire = []law{
	{"OnlyNumbersAreTokens", "What is no decimal number from 1 to 2^63-1 is refused as a token, with a status from 400 to 499, and changes nothing.", onlyNumbersAreTokens},
	{"SpellingIsNoWayIn", "A stale token stays stale however it is spelled.", spellingIsNoWayIn},
	{"NoScopeIsNoWayIn", "A stale request that names no scope is refused, or its key is the scope.", noScopeIsNoWayIn},
	{"OtherWaysAreClosed", "No other method, path or header is a way around the fence.", otherWaysAreClosed},
	{"HeadIsARead", "Where a HEAD is answered it is checked, and raises the mark, as a GET.", headIsARead},
	{"LateBodyIsNoWayIn", "Check and write are one step, also where a request's body comes long after its headers.", lateBodyIsNoWayIn},
	{"BatchIsFenced", "A stale batch is refused, and a batch raises the mark.", batchIsFenced},
}

// The names in the laws of HTTP.
const (
	lock = "lock"
	key  = "lock" // it is called as its lock, for protocols without scopes
)

func claim(t fence.Token) fence.Claim { return fence.Claim{Scope: lock, Token: t} }

// steps makes requests of one view, and stops at the first that does not come out as it must.
type steps struct {
	v1
	ctx context.Context
	err error
}

// beginWire has "kept" at the key, by token 35.
func (j *judge) beginWire(ctx context.Context) (*steps, error) {
	if j.speaks.Protocol != protocolV1 {
		return nil, fmt.Errorf("%w: it is about /v1, and the storage speaks %s", fencetest.ErrNotApplicable, j.speaks.Protocol)
	}
	begun, err := j.begin(ctx)
	if err != nil {
		return nil, err
	}
	s := &steps{v1: begun.(v1), ctx: ctx}
	s.write(35, "kept", nil)
	return s, s.err
}

func (s *steps) write(t fence.Token, value string, want error) {
	if s.err != nil {
		return
	}
	err := s.Write(s.ctx, claim(t), key, value)
	switch {
	case want == nil && err != nil:
		s.err = fmt.Errorf("a write with token %d: %w, want it admitted", t, err)
	case want != nil && err == nil:
		s.err = fmt.Errorf("a write with token %d was admitted, want it refused with 412", t)
	case !errors.Is(err, want):
		s.err = fmt.Errorf("a write with token %d: %w, want it refused with 412", t, err)
	}
}

// stays wants a value at the key, after what.
func (s *steps) stays(value, after string) {
	if s.err != nil {
		return
	}
	got, ok, err := s.Read(s.ctx, claim(0), key)
	switch {
	case err != nil:
		s.err = fmt.Errorf("a read after %s: %w", after, err)
	case !ok:
		s.err = fmt.Errorf("after %s the key is gone, want %q", after, value)
	case got != value:
		s.err = fmt.Errorf("after %s the key has %q, want %q", after, got, value)
	}
}

// refused makes a request and wants it refused.
func (s *steps) refused(e Exchange, what string) {
	if s.err != nil {
		return
	}
	a, err := s.client.ask(s.ctx, s.base, e)
	switch {
	case err != nil:
		s.err = fmt.Errorf("%s: %w, want it refused", what, err)
	case !a.Refused():
		s.err = fmt.Errorf("%s: the storage answered %v, want it refused with a status from 400 to 499", what, a)
	}
}

// token is a header as it is written.
func token(text string) string { return fencehttp.HeaderToken + ": " + text }

func (s *steps) scope() string { return fencehttp.HeaderScope + ": " + s.name(lock) }

func onlyNumbersAreTokens(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	for _, text := range []string{
		"", "0", "-1", "-36", "abc", "36abc", "36.0", "36.5", "1e3", "0x24", "Infinity", "NaN", "true", "null", "36, 37", "36 37",
		"9223372036854775808", "18446744073709551615", "18446744073709551616", "18446744073709551652", strings.Repeat("9", 400),
	} {
		what := fmt.Sprintf("token %q", foreign.Shown(text))
		header := []string{s.scope(), token(text)}
		s.refused(Exchange{Method: http.MethodPut, Path: s.path(key), Header: header, Body: "garbage"}, "a write with "+what)
		s.refused(Exchange{Method: http.MethodDelete, Path: s.path(key), Header: header}, "a delete with "+what)
		s.stays("kept", "requests with "+what)
		if s.err == nil {
			s.write(35, "kept", nil)
			if s.err != nil {
				s.err = fmt.Errorf("after refused requests with %s: %w", what, s.err)
			}
		}
	}
	s.write(34, "stale", fence.ErrStale)
	return s.err
}

func spellingIsNoWayIn(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	for _, text := range []string{"034", "00000000000000000000034", "+34", "3_4", "３４", "34.0", "34e0", "0x22", "0o42", "34L"} {
		what := fmt.Sprintf("token %q, where 35 has been seen", text)
		header := []string{s.scope(), token(text)}
		s.refused(Exchange{Method: http.MethodPut, Path: s.path(key), Header: header, Body: "stale"}, "a write with "+what)
		s.stays("kept", "a write with "+what)
	}
	return s.err
}

func noScopeIsNoWayIn(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		e := Exchange{Method: method, Path: s.path(key), Header: []string{token("34")}}
		if method == http.MethodPut {
			e.Body = "stale"
		}
		s.refused(e, fmt.Sprintf("a %s with token 34 and no scope, where the key's own scope has seen 35", method))
		s.stays("kept", "a stale "+method+" without a scope")
	}
	return s.err
}

// otherWaysAreClosed asks for no more than that data and mark stay as they are: a storage
// may answer what it likes to what it does not know.
func otherWaysAreClosed(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	name := s.name(key)
	stale := []string{s.scope(), token("34")}
	encoded := foreign.PathKV + fmt.Sprintf("%%%02X", name[0]) + name[1:]
	var ways []Exchange
	for _, path := range []string{
		s.path(key) + "?token=36", s.path(key) + "?Fencing-Token=36", s.path(key) + "/", "/" + s.path(key), foreign.PathKV + "./" + name,
		foreign.PathKV + "x/../" + name, encoded, "/v1/KV/" + name, "/V1/kv/" + name, "/kv/" + name, "/" + name,
	} {
		for _, method := range []string{http.MethodPut, http.MethodDelete} {
			ways = append(ways, Exchange{Method: method, Path: path, Header: stale})
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch, "put", "delete", "MERGE"} {
		ways = append(ways, Exchange{Method: method, Path: s.path(key), Header: stale})
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		ways = append(ways,
			Exchange{Method: http.MethodPost, Path: s.path(key), Header: append([]string{"X-HTTP-Method-Override: " + method}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"X-Fencing-Token: 36"}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"Fencing-Sequence: 1"}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"Fencing-Mode: shared"}, stale...)},
			Exchange{Method: method, Path: s.path(key), Header: append([]string{"Content-Range: bytes 0-4/5"}, stale...)},
		)
	}
	ways = append(ways,
		Exchange{Method: http.MethodPost, Path: "/v1/batch", Header: stale, Body: fmt.Sprintf(`{"ops": [{"op": "write", "key": %q, "val": "stale"}]}`, name)},
		Exchange{Method: http.MethodPost, Path: "/", Body: fmt.Sprintf(`{"op":"write","key":%q,"val":"stale","version":34}`, name)},
	)
	for _, e := range ways {
		if s.err != nil {
			break
		}
		if e.Body == "" && !strings.EqualFold(e.Method, http.MethodDelete) {
			e.Body = "stale"
		}
		_, _ = s.client.ask(ctx, s.base, e) // what it answers does not matter
		s.stays("kept", "the stale request "+e.asked())
	}
	if s.err != nil {
		return s.err
	}
	if s.write(35, "kept", nil); s.err != nil {
		return fmt.Errorf("after requests that must not raise the mark: %w", s.err)
	}
	return nil
}

func headIsARead(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	head := func(t string) (foreign.Answer, error) {
		return s.ask(ctx, http.MethodHead, s.path(key), []string{s.scope(), token(t)}, "")
	}
	fresh, err := head("36")
	if err != nil {
		return fmt.Errorf("a HEAD with token 36: %w", err)
	}
	if !fresh.OK() {
		return fmt.Errorf("%w: the storage answers %v to a HEAD", fencetest.ErrNotApplicable, fresh)
	}
	stale, err := head("34")
	if err != nil {
		return fmt.Errorf("a HEAD with token 34: %w", err)
	}
	if stale.OK() {
		return fmt.Errorf("a HEAD with token 34: the storage answered %v, want it refused with 412", stale)
	}
	s.write(35, "stale after a HEAD with token 36", fence.ErrStale)
	return s.err
}

// How long lateBodyIsNoWayIn waits for the storage to have read headers, of which nothing
// tells, and for a holder's write that the other request may hold up.
const (
	headersRead = 500 * time.Millisecond
	heldUp      = 2 * time.Second
)

// lateBody is a body that comes late.
type lateBody struct {
	what    string
	size    int
	chunked bool // its length is not told before
	must    bool // a storage has to take it; others it may refuse
}

var lateBodies = []lateBody{
	{"body", 4, false, true},
	{"body of 256 KiB", 256 << 10, false, false}, // which a storage may pass on as it comes
	{"chunked body", 4, true, false},
}

func lateBodyIsNoWayIn(ctx context.Context, j *judge) error {
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	for i, body := range lateBodies {
		if err := body.isNoWayIn(ctx, s, fence.Token(36+2*i)); err != nil {
			return err
		}
	}
	return s.err
}

// isNoWayIn makes a write with a token, whose body comes after a write with the next token.
func (b lateBody) isNoWayIn(ctx context.Context, s *steps, old fence.Token) error {
	late := Exchange{Method: http.MethodPut, Path: s.path(key), Header: []string{s.scope(), token(fmt.Sprint(old))}, Body: "late", Late: true}
	ctx, cancel := context.WithTimeout(ctx, s.client.timeout)
	defer cancel()
	conn, err := dial(ctx, s.base, late, b.framing())
	if err != nil {
		return s.client.note(s.base, late, foreign.Answer{}, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	time.Sleep(headersRead) // stands for no event that can be seen
	value := fmt.Sprintf("new %d", old+1)
	written := make(chan error, 1)
	go func() { written <- s.Write(ctx, claim(old+1), key, value) }()
	timer := time.NewTimer(heldUp)
	defer timer.Stop()
	select {
	case err = <-written:
		written <- err
	case <-timer.C: // it serves one at a time
	}
	a, err := finish(conn, b.text(), s.client.timeout)
	if err == nil {
		_ = s.client.note(s.base, late, a, nil)
	}
	if first := <-written; first != nil {
		return fmt.Errorf("a write with token %d, while the %s of a write with %d was on its way: %w", old+1, b.what, old, first)
	}
	if err != nil && b.must {
		return fmt.Errorf("a write with token %d whose %s came late: %w", old, b.what, s.client.note(s.base, late, foreign.Answer{}, err))
	}
	s.stays(value, fmt.Sprintf("a write with token %d whose headers came before that with %d, and its %s after it,", old, old+1, b.what))
	s.write(old, "stale", fence.ErrStale)
	return s.err
}

// framing is the header that says how long the body is.
func (b lateBody) framing() string {
	if b.chunked {
		return "Transfer-Encoding: chunked"
	}
	return contentLength(b.size)
}

func contentLength(n int) string { return fmt.Sprintf("Content-Length: %d", n) }

// text is the body as it is sent.
func (b lateBody) text() string {
	body := strings.Repeat("late", b.size/4)
	if b.chunked {
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	}
	return body
}

// finish sends the body of a request, and returns the answer.
func finish(conn net.Conn, body string, within time.Duration) (a foreign.Answer, err error) {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return a, err
	}
	if _, err := io.WriteString(conn, body); err != nil {
		return a, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, foreign.MaxHeaders+foreign.MaxAnswer)), nil)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	return foreign.Read(resp)
}

// dial sends all of a request but its body. framing is the header that says how long that is.
func dial(ctx context.Context, base string, e Exchange, framing string) (net.Conn, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	dialer := new(net.Dialer)
	var conn net.Conn
	if u.Scheme == "https" {
		conn, err = (&tls.Dialer{NetDialer: dialer}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
	} else {
		conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), portOf(u)))
	}
	if err != nil {
		return nil, err
	}
	lines := append([]string{fmt.Sprintf("%s %s%s HTTP/1.1", e.Method, u.EscapedPath(), e.Path), "Host: " + u.Host, "Connection: close"}, e.Header...)
	_, err = fmt.Fprintf(conn, "%s\r\n%s\r\n\r\n", strings.Join(lines, "\r\n"), framing)
	return conn, err
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func batchIsFenced(ctx context.Context, j *judge) error {
	if !j.speaks.Batch {
		return fmt.Errorf("%w: the storage knows no batches", fencetest.ErrNotApplicable)
	}
	s, err := j.beginWire(ctx)
	if err != nil {
		return err
	}
	batch := func(t fence.Token, want bool) {
		if s.err != nil {
			return
		}
		a, err := s.batch(ctx, claim(t), key, "batch")
		switch {
		case err != nil:
			s.err = fmt.Errorf("a batch with token %d: %w", t, err)
		case a.OK() != want:
			s.err = fmt.Errorf("a batch with token %d: the storage answered %v, want admitted: %v", t, a, want)
		}
	}
	batch(34, false)
	s.stays("kept", "a stale batch")
	batch(36, true)
	s.write(35, "stale after a batch with token 36", fence.ErrStale)
	s.stays("batch", "a batch with token 36")
	return s.err
}
