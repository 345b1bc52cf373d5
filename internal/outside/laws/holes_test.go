package laws_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/outside/laws"
)

// tokenHeader and scopeHeader are how a server in Go finds the headers.
const (
	tokenHeader = "Fencing-Token"
	scopeHeader = "Fencing-Scope"
)

// holesOfHTTP are made of what comes before the check.
var holesOfHTTP = []hole{
	{name: "the path as it is sent is the scope", found: []string{"NoScopeIsNoWayIn"}, change: func(s *tiny) {
		s.first = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Header.Values(scopeHeader) == nil {
				r.Header.Set(scopeHeader, strings.TrimPrefix(r.URL.EscapedPath(), "/v1/kv/"))
			}
			return false
		}
	}},
	{name: "keys are folded in case, and scopes are not", found: []string{"NoScopeIsNoWayIn"}, change: func(s *tiny) {
		s.first = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Header.Values(scopeHeader) == nil {
				r.Header.Set(scopeHeader, strings.TrimPrefix(r.URL.Path, "/v1/kv/"))
			}
			r.URL.Path = strings.ToLower(r.URL.Path)
			r.URL.RawPath = ""
			return false
		}
	}},
	{name: "an empty scope is not checked", found: []string{"NoScopeIsNoWayIn"}, change: func(s *tiny) {
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			given := r.Header.Values(scopeHeader)
			if r.Method != http.MethodPut || len(given) == 0 || given[0] != "" {
				return false
			}
			w.WriteHeader(http.StatusNoContent)
			return true
		}
	}},
	{name: "of two tokens the last is checked, and the first is the mark", found: []string{"TwoTokensAreNoWayIn"}, change: func(s *tiny) {
		var mark atomic.Uint64
		s.first = func(_ http.ResponseWriter, r *http.Request) bool {
			mark.Store(0)
			if len(r.Header.Values(tokenHeader)) == 2 {
				mark.Store(first(r.Header.Get(tokenHeader)))
				r.Header[tokenHeader] = r.Header[tokenHeader][1:]
			}
			return false
		}
		s.keep = func(token, _ uint64, _ string, _ bool) uint64 { return cmp.Or(mark.Load(), token) }
	}},
	{name: "a mark can be written as a key", found: []string{"MarksAreNoKeys"}, change: func(s *tiny) {
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			scope, is := strings.CutPrefix(r.URL.Path, "/v1/kv/mark:")
			if !is || r.Method != http.MethodPut {
				return false
			}
			text, _ := io.ReadAll(r.Body)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.state.Marks[scope], _ = strconv.ParseUint(string(text), 10, 64)
			w.WriteHeader(http.StatusNoContent)
			return true
		}
	}},
	{name: "a mark can be deleted", found: []string{"OtherWaysAreClosed"}, change: func(s *tiny) {
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			scope, is := strings.CutPrefix(r.URL.Path, "/v1/marks/")
			if is && r.Method == http.MethodDelete {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.state.Marks, scope)
				w.WriteHeader(http.StatusNoContent)
			}
			return is
		}
	}},
	{name: "what has not changed is not checked", found: []string{"PartsAreReads"}, change: func(s *tiny) {
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("If-None-Match") == "" {
				return false
			}
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}},
	{name: "a stale part is read", found: []string{"PartsAreReads"}, change: func(s *tiny) {
		s.refuse = func(w http.ResponseWriter, _ *tiny, _, _ string, _ uint64) {
			w.WriteHeader(http.StatusPreconditionFailed)
		}
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			if r.Header.Get("Range") == "" || first(r.Header.Get(tokenHeader)) >= s.state.Marks[r.Header.Get(scopeHeader)] {
				return false
			}
			w.WriteHeader(http.StatusPartialContent)
			return true
		}
	}},
	{name: "the last token of a connection is that of its next request", found: []string{"ConnectionsKeepNothing"}, change: func(s *tiny) {
		var last sync.Map
		s.first = func(_ http.ResponseWriter, r *http.Request) bool {
			if token := r.Header.Get(tokenHeader); token != "" {
				last.Store(r.RemoteAddr, token)
			} else if token, is := last.Load(r.RemoteAddr); is {
				r.Header.Set(tokenHeader, token.(string))
			}
			return false
		}
	}},
	{name: "the last scope of a connection is that of its next request", found: []string{"ConnectionsKeepNothing"}, change: func(s *tiny) {
		var last sync.Map
		s.first = func(_ http.ResponseWriter, r *http.Request) bool {
			if scope := r.Header.Get(scopeHeader); scope != "" {
				last.Store(r.RemoteAddr, scope)
			} else if scope, is := last.Load(r.RemoteAddr); is {
				r.Header.Set(scopeHeader, scope.(string))
			}
			return false
		}
	}},
	{name: "the check comes with the question whether a body is wanted", found: []string{"LateBodyIsNoWayIn"}, change: func(s *tiny) {
		s.early = func(r *http.Request) bool { return r.Header.Get("Expect") != "" }
	}},
	{name: "a batch needs no token", found: []string{"BatchIsFenced"}, change: func(s *tiny) {
		s.first = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/v1/batch" {
				return false
			}
			var batch struct{ Ops []struct{ Key, Val string } }
			if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return true
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if text := r.Header.Get(tokenHeader); text != "" {
				if first(text) < s.state.Marks[r.Header.Get(scopeHeader)] {
					w.WriteHeader(http.StatusPreconditionFailed)
					return true
				}
				s.state.Marks[r.Header.Get(scopeHeader)] = first(text)
			}
			for _, op := range batch.Ops {
				s.state.Data[op.Key] = op.Val
			}
			return true
		}
	}},
	{name: "a change is in the file a while after its answer", found: []string{"RestartKeepsMark"}, command: true, change: func(s *tiny) {
		s.late = 300 * time.Millisecond
	}},
}

// serveRaw serves what an HTTP server of Go would put right: change has the headers as they
// are sent, and a body that the handler leaves is where the next request begins.
func serveRaw(t *testing.T, h http.Handler, change func(header string) string) []string {
	t.Helper()
	return []string{serveConns(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for serveOne(conn, in, h, change) == nil {
		}
	})}
}

// serveConns serves each connection, and closes it.
func serveConns(t *testing.T, serve func(net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func serveOne(conn net.Conn, in *bufio.Reader, h http.Handler, change func(string) string) error {
	var header bytes.Buffer
	for line := ""; line != "\r\n"; {
		var err error
		if line, err = in.ReadString('\n'); err != nil {
			return err
		}
		header.WriteString(change(line))
	}
	r, err := http.ReadRequest(bufio.NewReader(&header))
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(io.LimitReader(in, r.ContentLength))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code == http.StatusNoContent {
		_, err = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		return err
	}
	answer := w.Result()
	answer.ContentLength = int64(w.Body.Len())
	return answer.Write(conn)
}

// serveOld answers in HTTP/1.0, and closes the connection.
func serveOld(t *testing.T, h http.Handler) []string {
	t.Helper()
	return []string{serveConns(t, func(conn net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			_, _ = io.WriteString(conn, "HTTP/1.0 400 Bad Request\r\n\r\n") // to who may be gone
			return
		}
		if r.Header.Get("Expect") != "" {
			_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		_, _ = fmt.Fprintf(conn, "HTTP/1.0 %d As said\r\n\r\n%s", w.Code, w.Body)
	})}
}

func asSent(line string) string { return line }

// TestHolesOfServers: these are in what reads the requests.
func TestHolesOfServers(t *testing.T) {
	t.Parallel()
	anyCase := func(line string) string {
		if name, _, _ := strings.Cut(line, ":"); strings.EqualFold(name, tokenHeader) && name != tokenHeader {
			return ""
		}
		return line
	}
	for _, tt := range []struct {
		law     string
		change  func(line string) string
		early   bool
		outcome string
	}{
		{"HeaderNamesHaveNoCase", asSent, false, laws.Holds},
		{"HeaderNamesHaveNoCase", anyCase, false, laws.Fails},
		{"ConnectionsKeepNothing", asSent, false, laws.Holds},
		{"ConnectionsKeepNothing", asSent, true, laws.Fails}, // the body of what was refused is the next request
	} {
		s := newTiny(func(s *tiny) { s.early = func(*http.Request) bool { return tt.early } })
		r := report(t, laws.Options{URLs: serveRaw(t, s, tt.change), Only: []string{tt.law}})
		if got := r.Results[0]; got.Outcome != tt.outcome {
			t.Errorf("%s %s: %s, want that it %s", tt.law, got.Outcome, got.Why, tt.outcome)
		}
	}
}

// TestLeftOut: why a law was left out says what would have it judged.
func TestLeftOut(t *testing.T) {
	only := []string{"RestartKeepsMark", "ProcessesShareMarks", "RestartKeepsBothMarks"}
	for _, tt := range []struct {
		options laws.Options
		want    []string
	}{
		{laws.Options{URLs: serve(t, newTiny(nil))}, []string{"by --command", "the URLs of two", "no shared claims"}},
		{laws.Options{Commands: []string{command(t, "none")}}, []string{"", "give --command twice", "no shared claims"}},
	} {
		tt.options.Only = only
		for i, r := range report(t, tt.options).Results {
			if tt.want[i] == "" && r.Outcome != laws.Holds || tt.want[i] != "" && (r.Outcome != laws.LeftOut || !strings.Contains(r.Why, tt.want[i])) {
				t.Errorf("%s %s: %s, want %q", r.Law, r.Outcome, r.Why, tt.want[i])
			}
		}
	}
}

// TestBounds: marks that are dropped after a while, or where there are many, are seen if one
// waits long enough, or makes enough of them.
func TestBounds(t *testing.T) {
	t.Parallel()
	storage := func(change func(*tiny)) []string { return serve(t, newTiny(change)) }
	expires := func(s *tiny) {
		var raised sync.Map
		s.scope = func(scope, _ string) string {
			if at, is := raised.Swap(scope, time.Now()); is && time.Since(at.(time.Time)) > 4*time.Second {
				s.mu.Lock()
				delete(s.state.Marks, scope)
				s.mu.Unlock()
			}
			return scope
		}
	}
	full := func(s *tiny) {
		s.keep = func(token, _ uint64, _ string, _ bool) uint64 {
			if len(s.state.Marks) > 1000 {
				clear(s.state.Marks)
			}
			return token
		}
	}
	for _, tt := range []struct {
		change  func(*tiny)
		options laws.Options
		outcome string
	}{
		{expires, laws.Options{Only: []string{"TimeKeepsMark"}, Idle: time.Second}, laws.Holds},
		{expires, laws.Options{Only: []string{"TimeKeepsMark"}, Idle: 5 * time.Second}, laws.Fails},
		{full, laws.Options{Only: []string{"ManyMarksStay"}, Scopes: 500}, laws.Holds},
		{full, laws.Options{Only: []string{"ManyMarksStay"}, Scopes: 1500}, laws.Fails},
	} {
		tt.options.URLs = storage(tt.change)
		if got := report(t, tt.options).Results[0]; got.Outcome != tt.outcome {
			t.Errorf("%+v: %s: %s, want that it %s", tt.options, got.Outcome, got.Why, tt.outcome)
		}
	}
}
