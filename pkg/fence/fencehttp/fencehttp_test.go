package fencehttp_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// notes is an unprotected service: texts by path.
type notes struct {
	mu   sync.Mutex
	data map[string]string
}

func (n *notes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch r.Method {
	case http.MethodPut:
		b, _ := io.ReadAll(r.Body)
		n.data[r.URL.Path] = string(b)
		w.Header().Set("X-Note", "kept")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "kept")
	case http.MethodDelete:
		delete(n.data, r.URL.Path)
	case http.MethodGet:
		v, ok := n.data[r.URL.Path]
		if !ok {
			http.Error(w, "no such note", http.StatusNotFound)
			return
		}
		fmt.Fprint(w, v)
	}
}

// byPath are the options of a server that has a lock for each path, or for each
// name in the query.
var byPath = fencehttp.Options{Scope: scope}

func scope(r *http.Request) string { return cmp.Or(r.URL.Query().Get("lock"), r.URL.Path) }

func serve(t testing.TB, reg fence.Guard, o fencehttp.Options) *httptest.Server {
	srv := httptest.NewServer(fencehttp.Middleware(reg, o)(&notes{data: make(map[string]string)}))
	t.Cleanup(srv.Close)
	return srv
}

// remote is the service behind the Middleware, seen through the Transport, as a
// store for the laws.
type remote struct {
	url    string
	client *http.Client
}

func newRemote(srv *httptest.Server) *remote {
	return &remote{url: srv.URL, client: &http.Client{Transport: &fencehttp.Transport{Base: srv.Client().Transport}}}
}

func (s *remote) do(ctx context.Context, method string, c fence.Claim, key, body string) (int, string, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return 0, "", err
	}
	u.Path, u.RawQuery = "/"+key, url.Values{"lock": {c.Scope}}.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	fencehttp.SetClaim(req.Header, c)
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func (s *remote) Write(ctx context.Context, c fence.Claim, key, value string) error {
	_, _, err := s.do(ctx, http.MethodPut, c, key, value)
	return err
}

func (s *remote) Delete(ctx context.Context, c fence.Claim, key string) error {
	_, _, err := s.do(ctx, http.MethodDelete, c, key, "")
	return err
}

func (s *remote) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	status, body, err := s.do(ctx, http.MethodGet, c, key, "")
	if err != nil || status == http.StatusNotFound {
		return "", false, err
	}
	return body, true, nil
}

// TestLaws: an unprotected service becomes a fenced store by the Middleware, and
// the refusals come through the Transport as the errors that they were.
func TestLaws(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) {
			return newRemote(serve(t, new(fence.Register), byPath)), nil
		},
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			reg := &fence.Register{Bound: func(fence.Claim) (fence.Token, error) { return bound, nil }}
			return newRemote(serve(t, reg, byPath)), nil
		},
		Idle: time.Millisecond, // a Register has no clock
	})
}

// TestScopeFromThePattern: below a router, the lock can be named by a part of the path.
func TestScopeFromThePattern(t *testing.T) {
	fenced := fencehttp.Middleware(new(fence.Register), fencehttp.Options{
		Scope: func(r *http.Request) string { return "/lock/" + r.PathValue("shop") },
	})
	mux := http.NewServeMux()
	mux.Handle("/shops/{shop}/{item}", fenced(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.PathValue("item"))
	})))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	s := newRemote(srv)
	put := func(c fence.Claim, path string) error { return s.Write(t.Context(), c, path, "") }
	if err := put(fence.Claim{Token: 34}, "shops/a/one"); err != nil {
		t.Fatal(err)
	}
	if err := put(fence.Claim{Token: 33}, "shops/a/two"); !errors.Is(err, fence.ErrStale) {
		t.Errorf("other item of the shop: got %v, want ErrStale", err)
	}
	if err := put(fence.Claim{Token: 33}, "shops/b/one"); err != nil {
		t.Errorf("other shop: %v", err)
	}
	err := put(fence.Claim{Scope: "/lock/nobody", Token: 33}, "shops/a/two")
	if !errors.Is(err, fence.ErrInvalidScope) || !strings.Contains(err.Error(), `guarded by "/lock/a"`) {
		t.Errorf("a lock of the client's own choice: got %v, want a refusal that names the right lock", err)
	}
}

func TestStatusAndDocument(t *testing.T) {
	reg := &fence.Register{Bound: func(fence.Claim) (fence.Token, error) { return 1 << 60, nil }}
	srv := serve(t, reg, fencehttp.Options{Scope: scope, MaxBody: 10})
	for _, tt := range []struct {
		name   string
		header map[string][]string
		body   string
		status int
		want   string
	}{
		{"admitted", h("Fencing-Token", "34"), "", 201, "kept"},
		{"stale", h("Fencing-Token", "33"), "", 412, `"reason":"stale","scope":"/a","token":"33","mark":"34"`},
		{"missing", nil, "", 428, `"reason":"missing"`},
		{"invalid", h("Fencing-Token", "1.5"), "", 400, `header Fencing-Token: fence: invalid token: \"1.5\"`},
		{"zero", h("Fencing-Token", "0"), "", 400, `"reason":"invalid"`},
		{"empty", h("Fencing-Token", ""), "", 400, `"reason":"invalid"`},
		{"twice", map[string][]string{"Fencing-Token": {"34", "35"}}, "", 400, "given 2 times"},
		{"scope twice", map[string][]string{"Fencing-Token": {"34"}, "Fencing-Scope": {"a", "b"}}, "", 400, "given 2 times"},
		{"empty scope", map[string][]string{"Fencing-Token": {"34"}, "Fencing-Scope": {""}}, "", 400, "it is empty"},
		{"bad sequence", map[string][]string{"Fencing-Token": {"34"}, "Fencing-Sequence": {"x"}}, "", 400, "header Fencing-Sequence"},
		{"unknown mode", map[string][]string{"Fencing-Token": {"34"}, "Fencing-Mode": {"reader"}}, "", 400, `"field":"mode"`},
		{"empty mode", map[string][]string{"Fencing-Token": {"34"}, "Fencing-Mode": {""}}, "", 400, "header Fencing-Mode"},
		{"mode twice", map[string][]string{"Fencing-Token": {"34"}, "Fencing-Mode": {"shared", "shared"}}, "", 400, "given 2 times"},
		{"shared", map[string][]string{"Fencing-Token": {"36"}, "Fencing-Mode": {"shared"}}, "", 201, "kept"},
		{"exclusive", map[string][]string{"Fencing-Token": {"35"}, "Fencing-Mode": {"exclusive"}}, "", 412, `"mark":"36","mark_mode":"shared"`},
		{"ahead", h("Fencing-Token", "9223372036854775807"), "", 422, `"bound":"1152921504606846976"`},
		{"too large", h("Fencing-Token", "34"), "eleven bytes", 413, `"status":413`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := http.NewRequest(http.MethodPut, srv.URL+"/a", strings.NewReader(tt.body))
			for k, v := range tt.header {
				req.Header[k] = v
			}
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != tt.status || !strings.Contains(string(b), tt.want) {
				t.Errorf("got %d %s, want %d with %q", resp.StatusCode, b, tt.status, tt.want)
			}
			if ct := resp.Header.Get("Content-Type"); tt.status >= 400 && ct != fencehttp.ContentType {
				t.Errorf("content type %q", ct)
			}
		})
	}
}

func h(k, v string) map[string][]string { return map[string][]string{k: {v}} }

func TestDuplicateIsAnsweredWithoutTheHandler(t *testing.T) {
	srv := serve(t, new(fence.Register), byPath)
	for i, want := range []string{"", "true"} {
		req, _ := http.NewRequest(http.MethodPut, srv.URL+"/a", strings.NewReader("x"))
		fencehttp.SetClaim(req.Header, fence.Claim{Token: 1, Sequence: 5})
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get(fencehttp.HeaderDuplicate); got != want || resp.StatusCode >= 300 {
			t.Errorf("request %d: status %d, %s %q, want %q", i, resp.StatusCode, fencehttp.HeaderDuplicate, got, want)
		}
	}
}

// TestFailedHandlerMayBeRetried: a sequence number counts only where the
// handler succeeded, but the token counts at once.
func TestFailedHandlerMayBeRetried(t *testing.T) {
	fail := true
	srv := httptest.NewServer(fencehttp.Middleware(new(fence.Register), byPath)(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if fail {
				http.Error(w, "disk full", http.StatusInsufficientStorage)
			}
		})))
	defer srv.Close()
	s := newRemote(srv)
	c := fence.Claim{Token: 7, Sequence: 1}
	if status, body, err := s.do(t.Context(), "PUT", c, "a", ""); status != 507 || err != nil || body != "disk full\n" {
		t.Errorf("got %d %q %v, want the handler's own answer", status, body, err)
	}
	if err := s.Write(t.Context(), fence.Claim{Token: 6}, "a", ""); !errors.Is(err, fence.ErrStale) {
		t.Errorf("older token: got %v, want ErrStale", err)
	}
	fail = false
	if status, _, err := s.do(t.Context(), "PUT", c, "a", ""); status != 200 || err != nil {
		t.Errorf("retry: got %d %v, want 200", status, err)
	}
}

// TestSlowBodyDoesNotHoldTheScope: a client that never finishes its request
// must not keep others of the same lock waiting.
func TestSlowBodyDoesNotHoldTheScope(t *testing.T) {
	srv := serve(t, new(fence.Register), byPath)
	body, feed := io.Pipe()
	defer feed.Close()
	req, _ := http.NewRequest(http.MethodPut, srv.URL+"/a", body)
	fencehttp.SetClaim(req.Header, fence.Claim{Token: 1})
	go func() { _, _ = srv.Client().Do(req) }() // its outcome is not the point
	if _, err := feed.Write([]byte("the first byte")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := newRemote(srv).Write(ctx, fence.Claim{Token: 2}, "a", "v"); err != nil {
		t.Fatalf("beside a slow client: %v", err)
	}
}

func TestTransportPassesOtherAnswersThrough(t *testing.T) {
	const other = `{"type":"https://example.org/out-of-stock","title":"Out of stock","status":412,"reason":"stale"}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", fencehttp.ContentType)
		w.WriteHeader(412)
		fmt.Fprint(w, other)
	}))
	defer srv.Close()
	status, body, err := newRemote(srv).do(t.Context(), "GET", fence.Claim{}, "", "")
	if status != 412 || body != other || err != nil {
		t.Errorf("got %d %s %v, want another service's problem untouched", status, body, err)
	}
}

func TestProblemsRoundTrip(t *testing.T) {
	for _, err := range []error{
		&fence.StaleError{Scope: "s", Token: 1<<53 + 1, Mark: 1<<63 - 1},
		&fence.StaleError{Scope: "s", Token: 5, Mark: 5, Sequence: 2, MarkSequence: 3},
		&fence.StaleError{Scope: "s", Token: 5, Mark: 7, MarkMode: fence.Shared},
		&fence.AheadError{Scope: "s", Token: 1<<63 - 1, Bound: 7},
	} {
		p, ok := fencehttp.NewProblem(fmt.Errorf("write key0: %w", err))
		if got := p.Err(); !ok || got == nil || got.Error() != err.Error() {
			t.Errorf("%v came back as %v", err, got)
		}
	}
	for _, err := range []error{fence.ErrNoToken, fence.ErrInvalidToken} {
		p, _ := fencehttp.NewProblem(err)
		if got := p.Err(); !errors.Is(got, err) {
			t.Errorf("%v came back as %v", err, got)
		}
	}
	if _, ok := fencehttp.NewProblem(errors.New("disk full")); ok {
		t.Error("an error that is no refusal became one")
	}
}

// TestReport: each claim is reported once, also one that the Guard never sees because of its
// form. A request that shows no claim and writes nothing is none.
func TestReport(t *testing.T) {
	for _, tt := range []struct {
		method, scope string // "": the server does not name it
		header        http.Header
		want          []fence.Claim
		refused       error
	}{
		{"PUT", "a", http.Header{fencehttp.HeaderToken: {"34"}}, []fence.Claim{{Scope: "a", Token: 34}}, nil},
		{"PUT", "a", http.Header{fencehttp.HeaderToken: {"32"}}, []fence.Claim{{Scope: "a", Token: 32}}, fence.ErrStale},
		{"PUT", "a", nil, []fence.Claim{{Scope: "a"}}, fence.ErrNoToken},
		{"PUT", "a", http.Header{fencehttp.HeaderToken: {"none"}}, []fence.Claim{{Scope: "a"}}, fence.ErrInvalidToken},
		{"PUT", "a", http.Header{fencehttp.HeaderToken: {"34"}, fencehttp.HeaderScope: {"b"}}, []fence.Claim{{Scope: "a"}}, fence.ErrInvalidScope},
		{"GET", "a", nil, nil, nil},
		{"PUT", "", http.Header{fencehttp.HeaderToken: {"34"}}, nil, nil},
	} {
		var reg fence.Register
		if err := reg.Do(t.Context(), fence.Claim{Scope: "a", Token: 33}, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		var got []fence.Claim
		h := fencehttp.Middleware(&reg, fencehttp.Options{
			Scope: func(*http.Request) string { return tt.scope },
			Report: func(ctx context.Context, c fence.Claim, refused error) {
				if got = append(got, c); !errors.Is(refused, tt.refused) {
					t.Errorf("%s %v: reported %v, want %v", tt.method, tt.header, refused, tt.refused)
				}
			},
		})(&notes{data: make(map[string]string)})
		r := httptest.NewRequest(tt.method, "/note", nil)
		r.Header = tt.header
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %v: reported %+v, want %+v", tt.method, tt.header, got, tt.want)
		}
	}
}
