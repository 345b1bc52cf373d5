package fencehttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// TestRefusalOfHead: what has no body is told in headers.
func TestRefusalOfHead(t *testing.T) {
	reg := &fence.Register{Bound: func(fence.Claim) (fence.Token, error) { return 40, nil }}
	s := newRemote(serve(t, reg, fencehttp.Options{
		Scope: func(*http.Request) string { return "/lock" },
	}))
	if err := s.Write(t.Context(), fence.Claim{Token: 34}, "a", ""); err != nil {
		t.Fatal(err)
	}
	head := func(c fence.Claim) error {
		_, _, err := s.do(t.Context(), http.MethodHead, c, "a", "")
		return err
	}
	var stale *fence.StaleError
	if err := head(fence.Claim{Scope: "/lock", Token: 33}); !errors.As(err, &stale) || *stale != (fence.StaleError{Scope: "/lock", Token: 33, Mark: 34}) {
		t.Errorf("stale: got %v, want the StaleError of the server", err)
	}
	if err := head(fence.Claim{Token: 33}); !errors.As(err, &stale) || *stale != (fence.StaleError{Token: 33, Mark: 34}) {
		t.Errorf("stale, and no scope was named: got %v, want both tokens", err)
	}
	if err := head(fence.Claim{Scope: "/lock", Token: 36, Mode: fence.Shared}); err != nil {
		t.Errorf("shared: %v", err)
	}
	if err := head(fence.Claim{Scope: "/lock", Token: 35}); !errors.As(err, &stale) || *stale != (fence.StaleError{Scope: "/lock", Token: 35, Mark: 36, MarkMode: fence.Shared}) {
		t.Errorf("stale by a shared mark: got %v, want the StaleError of the server", err)
	}
	if err := head(fence.Claim{Scope: "/lock", Token: 36, Mode: 2}); !errors.Is(err, fence.ErrInvalidMode) {
		t.Errorf("unknown mode: got %v, want ErrInvalidMode", err)
	}
	var ahead *fence.AheadError
	if err := head(fence.Claim{Scope: "/lock", Token: 41}); !errors.As(err, &ahead) || *ahead != (fence.AheadError{Scope: "/lock", Token: 41, Bound: 40}) {
		t.Errorf("ahead: got %v, want the AheadError of the server", err)
	}
	if err := head(fence.Claim{Token: -1}); !errors.Is(err, fence.ErrInvalidToken) || !strings.Contains(err.Error(), "invalid token") {
		t.Errorf("invalid token: got %v", err)
	}
	if err := head(fence.Claim{Scope: "/other", Token: 34}); !errors.Is(err, fence.ErrInvalidScope) {
		t.Errorf("another scope: got %v, want ErrInvalidScope", err)
	}
}

// TestMissingInHeaders: a server of its own kind may want a token of a HEAD too.
func TestMissingInHeaders(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p, _ := fencehttp.NewProblem(fence.ErrNoToken)
		p.Write(w)
	}))
	defer srv.Close()
	_, _, err := newRemote(srv).do(t.Context(), http.MethodHead, fence.Claim{}, "a", "")
	if !errors.Is(err, fence.ErrNoToken) || errors.Is(err, fence.ErrInvalidToken) {
		t.Errorf("got %v, want ErrNoToken alone", err)
	}
}

// TestRefusalWithLargeDocument: the scope is the path, which nobody limits.
func TestRefusalWithLargeDocument(t *testing.T) {
	s := newRemote(serve(t, new(fence.Register), byPath))
	key := strings.Repeat("k", 100<<10)
	if err := s.Write(t.Context(), fence.Claim{Token: 34}, key, ""); err != nil {
		t.Fatal(err)
	}
	var stale *fence.StaleError
	if err := s.Write(t.Context(), fence.Claim{Token: 33}, key, ""); !errors.As(err, &stale) || stale.Token != 33 || stale.Mark != 34 {
		t.Errorf("got %.200v, want a StaleError with both tokens", err)
	}
}

// TestRefusalSurvivesALostDocument: a refusal stays definite where a proxy
// replaces its document or the connection breaks in the middle of it.
func TestRefusalSurvivesALostDocument(t *testing.T) {
	for name, length := range map[string]string{"replaced": "7", "cut": "100"} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				h := w.Header()
				h.Set("Content-Type", "text/plain")
				h.Set("Content-Length", length)
				h.Set(fencehttp.HeaderRefused, string(fencehttp.ReasonStale))
				h.Set(fencehttp.HeaderToken, "33")
				h.Set(fencehttp.HeaderMark, "34")
				w.WriteHeader(http.StatusPreconditionFailed)
				fmt.Fprint(w, "refused")
			}))
			defer srv.Close()
			var stale *fence.StaleError
			err := newRemote(srv).Write(t.Context(), fence.Claim{Token: 33}, "a", "")
			if !errors.As(err, &stale) || *stale != (fence.StaleError{Token: 33, Mark: 34}) {
				t.Errorf("got %v, want a StaleError with both tokens", err)
			}
		})
	}
}

// TestLargeForeignDocument comes whole, whatever its size.
func TestLargeForeignDocument(t *testing.T) {
	for _, size := range []int{64<<10 - 1, 64 << 10, 64<<10 + 1, 200 << 10} {
		const begin, end = `{"type":"about:blank","detail":"`, `"}`
		doc := begin + strings.Repeat("x", size-len(begin)-len(end)) + end
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", fencehttp.ContentType)
			w.WriteHeader(http.StatusPreconditionFailed)
			fmt.Fprint(w, doc)
		}))
		status, body, err := newRemote(srv).do(t.Context(), http.MethodGet, fence.Claim{}, "", "")
		srv.Close()
		if status != http.StatusPreconditionFailed || body != doc || err != nil {
			t.Errorf("document of %d bytes: got status %d, %d bytes, %v", size, status, len(body), err)
		}
	}
}

func TestParseClaimScope(t *testing.T) {
	parse := func(scope string) (fence.Claim, error) {
		return fencehttp.ParseClaim(http.Header{fencehttp.HeaderScope: {scope}}, "/default")
	}
	for _, good := range []string{
		"/lock", "a b", "ключ", "\uFFFD", "a\uFFFDb", "🔒",
		strings.Repeat("s", fencehttp.MaxScope),
	} {
		if c, err := parse(good); err != nil || c.Scope != good {
			t.Errorf("%.20q: got %.20q, %v, want it taken", good, c.Scope, err)
		}
	}
	for bad, want := range map[string]string{
		"": "empty",
		strings.Repeat("s", fencehttp.MaxScope+1): "1025 bytes, want at most 1024",
		"a\xff":     "not UTF-8",
		"\xc3":      "not UTF-8",
		"a\x00b":    "control character",
		"a\tb":      "control character",
		"a\x7f":     "control character",
		"a\u0085b":  "control character",
		" a":        "white space",
		"a ":        "white space",
		"\u00a0a":   "white space",
		"a\u3000":   "white space",
		"   ":       "white space",
		"a\u2028":   "white space",
		"\ta":       "control character",
		"a\r\nb: c": "control character",
	} {
		c, err := parse(bad)
		if !errors.Is(err, fence.ErrInvalidScope) || !strings.Contains(err.Error(), want) || c.Scope == bad {
			t.Errorf("%.20q: got %.20q, %v, want ErrInvalidScope that says %q", bad, c.Scope, err, want)
		}
	}
	// The caller answers for its default.
	if c, err := fencehttp.ParseClaim(nil, " \x00"); err != nil || c.Scope != " \x00" {
		t.Errorf("default: got %q, %v", c.Scope, err)
	}
}

func TestParseClaimDoesNotAllocate(t *testing.T) {
	header := make(http.Header)
	fencehttp.SetClaim(header, fence.Claim{Scope: "/lock/ключ", Token: 34, Sequence: 2})
	if n := testing.AllocsPerRun(100, func() {
		if _, err := fencehttp.ParseClaim(header, ""); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// TestInvalidKeepsItsSentinel: a client learns which part of the claim was bad.
func TestInvalidKeepsItsSentinel(t *testing.T) {
	for _, tt := range []struct {
		err   error
		field string
		not   []error
	}{
		{fence.ErrInvalidToken, "token", []error{fence.ErrInvalidSequence, fence.ErrInvalidScope}},
		{fence.ErrInvalidSequence, "sequence", []error{fence.ErrInvalidScope}},
		{fence.ErrInvalidMode, "mode", []error{fence.ErrInvalidSequence, fence.ErrInvalidScope}},
		{fence.ErrInvalidScope, "scope", []error{fence.ErrInvalidSequence}},
	} {
		p, _ := fencehttp.NewProblem(fmt.Errorf("header: %w", tt.err))
		if got := p.Err(); p.Field != tt.field || !errors.Is(got, tt.err) || got.Error() != p.Detail {
			t.Errorf("%v came back as %v, field %q, want field %q", tt.err, got, p.Field, tt.field)
		}
		for _, other := range tt.not {
			if errors.Is(p.Err(), other) {
				t.Errorf("%v came back as %v too", tt.err, other)
			}
		}
		p.Field = "" // of a server that does not know the member
		if got := p.Err(); !errors.Is(got, fence.ErrInvalidToken) {
			t.Errorf("without a field: got %v, want ErrInvalidToken", got)
		}
	}
	if p, _ := fencehttp.NewProblem(fence.ErrNoToken); p.Field != "" {
		t.Errorf("field %q where nothing is invalid", p.Field)
	}

	s := newRemote(serve(t, new(fence.Register), byPath))
	if err := s.Write(t.Context(), fence.Claim{Token: 1, Sequence: -1}, "a", ""); !errors.Is(err, fence.ErrInvalidSequence) {
		t.Errorf("over HTTP: got %v, want ErrInvalidSequence", err)
	}
	if err := s.Write(t.Context(), fence.Claim{Token: 1, Sequence: 1, Mode: fence.Shared}, "a", ""); !errors.Is(err, fence.ErrInvalidSequence) {
		t.Errorf("a shared claim over HTTP: got %v, want ErrInvalidSequence", err)
	}
	if err := s.Write(t.Context(), fence.Claim{Token: 1, Scope: "a\u00a0"}, "a", ""); !errors.Is(err, fence.ErrInvalidScope) {
		t.Errorf("over HTTP: got %v, want ErrInvalidScope", err)
	}
}

// TestReadsIgnoreSequence: a read is answered whatever its number, and leaves
// the order of the writes alone.
func TestReadsIgnoreSequence(t *testing.T) {
	s := newRemote(serve(t, new(fence.Register), byPath))
	c := fence.Claim{Token: 7, Sequence: 5}
	if err := s.Write(t.Context(), c, "a", "v"); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{5, 4, 9} {
		v, ok, err := s.Read(t.Context(), fence.Claim{Token: 7, Sequence: n}, "a")
		if v != "v" || !ok || err != nil {
			t.Errorf("read with sequence %d: got %q %v %v, want the value", n, v, ok, err)
		}
	}
	if err := s.Write(t.Context(), fence.Claim{Token: 7, Sequence: 6}, "a", "w"); err != nil {
		t.Errorf("write after a read with a higher number: %v", err)
	}
}

func TestHeadersOfOuterMiddlewareStay(t *testing.T) {
	h := fencehttp.Middleware(new(fence.Register), byPath)(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.Header().Add("Vary", "Accept") }))
	w := httptest.NewRecorder()
	w.Header().Add("Vary", "Origin")
	r := httptest.NewRequest(http.MethodPut, "/a", nil)
	fencehttp.SetClaim(r.Header, fence.Claim{Token: 1})
	h.ServeHTTP(w, r)
	if got, want := w.Header().Values("Vary"), []string{"Origin", "Accept"}; !slices.Equal(got, want) {
		t.Errorf("Vary %q, want %q", got, want)
	}
}

// TestDeletedHeadersStayAway: what a handler takes away from the headers of outer
// middleware does not come back.
func TestDeletedHeadersStayAway(t *testing.T) {
	h := fencehttp.Middleware(new(fence.Register), byPath)(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { w.Header().Del("Cache-Control") }))
	w := httptest.NewRecorder()
	w.Header().Set("Cache-Control", "public")
	w.Header().Set("Vary", "Origin")
	r := httptest.NewRequest(http.MethodPut, "/a", nil)
	fencehttp.SetClaim(r.Header, fence.Claim{Token: 1})
	h.ServeHTTP(w, r)
	if h := w.Header(); h.Get("Cache-Control") != "" || h.Get("Vary") != "Origin" {
		t.Errorf("the answer has the headers %v", h)
	}
}

// TestMethodOverrideIsNoWayIn: a handler that goes by such a header gets no write without a
// token.
func TestMethodOverrideIsNoWayIn(t *testing.T) {
	for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
		for method, needs := range map[string]bool{"DELETE": true, "put": true, "GET": false, "head": false} {
			called := false
			h := fencehttp.Middleware(new(fence.Register), byPath)(http.HandlerFunc(
				func(http.ResponseWriter, *http.Request) { called = true }))
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/a", nil)
			r.Header.Set(header, method)
			h.ServeHTTP(w, r)
			if refused := w.Code == http.StatusPreconditionRequired; refused != needs || called == needs {
				t.Errorf("%s: %s: status %d, handler called: %v, want a token needed: %v", header, method, w.Code, called, needs)
			}
		}
	}
}

func TestCallersRequestStays(t *testing.T) {
	var seen string
	h := fencehttp.Middleware(new(fence.Register), byPath)(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			seen = string(b)
		}))
	r := httptest.NewRequest(http.MethodPut, "/a", strings.NewReader("text"))
	fencehttp.SetClaim(r.Header, fence.Claim{Token: 1})
	body := r.Body
	h.ServeHTTP(httptest.NewRecorder(), r)
	if r.Body != body {
		t.Error("the body of the caller's request was replaced")
	}
	if seen != "text" {
		t.Errorf("the handler read %q", seen)
	}
}

// TestStatusFrom400IsAFailure: the client's own mistake does not use up its
// sequence number either.
func TestStatusFrom400IsAFailure(t *testing.T) {
	for status, consumed := range map[int]bool{200: true, 304: true, 399: true, 400: false, 404: false, 409: false, 499: false, 500: false} {
		calls := 0
		h := fencehttp.Middleware(new(fence.Register), byPath)(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.WriteHeader(status)
			}))
		for range 2 {
			r := httptest.NewRequest(http.MethodPut, "/a", nil)
			fencehttp.SetClaim(r.Header, fence.Claim{Token: 1, Sequence: 1})
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		if got := calls == 1; got != consumed {
			t.Errorf("status %d: %d calls of the handler, want the sequence consumed: %v", status, calls, consumed)
		}
	}
}

// TestInformationalStatusIsNotTheAnswer: 1xx comes before the answer, whose
// status decides.
func TestInformationalStatusIsNotTheAnswer(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusCreated, http.StatusConflict} {
		calls := 0
		h := fencehttp.Middleware(new(fence.Register), byPath)(http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.WriteHeader(http.StatusEarlyHints)
				w.WriteHeader(http.StatusProcessing)
				w.WriteHeader(status)
				w.WriteHeader(http.StatusTeapot) // too late, as in net/http
				fmt.Fprint(w, "text")
			}))
		var w *httptest.ResponseRecorder
		for range 2 {
			r := httptest.NewRequest(http.MethodPut, "/a", nil)
			fencehttp.SetClaim(r.Header, fence.Claim{Token: 1, Sequence: 1})
			got := httptest.NewRecorder()
			h.ServeHTTP(got, r)
			if w == nil {
				w = got
			}
		}
		if w.Code != status || w.Body.String() != "text" {
			t.Errorf("got %d %q, want %d", w.Code, w.Body, status)
		}
		if again := calls == 2; again != (status >= 400) {
			t.Errorf("status %d after 1xx: %d calls of the handler", status, calls)
		}
	}
}

// TestWhichMethodsNeedAToken: all but the four that are safe by RFC 9110.
func TestWhichMethodsNeedAToken(t *testing.T) {
	for method, needs := range map[string]bool{
		"GET": false, "HEAD": false, "OPTIONS": false, "TRACE": false,
		"POST": true, "PUT": true, "PATCH": true, "DELETE": true, "CONNECT": true,
		"PROPFIND": true, "get": true,
	} {
		called := false
		h := fencehttp.Middleware(new(fence.Register), byPath)(http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) { called = true }))
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/a", nil)
		r.Method = method
		h.ServeHTTP(w, r)
		if refused := w.Code == http.StatusPreconditionRequired; refused != needs || called == needs {
			t.Errorf("%s: status %d, handler called: %v, want a token needed: %v", method, w.Code, called, needs)
		}
	}
}
