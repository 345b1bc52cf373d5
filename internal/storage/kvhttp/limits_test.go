package kvhttp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// local are the engines that keep what they hold on this machine, and so have
// limits of their own.
var local = kvtest.Kinds[:2]

// limited is the metric of refusals for a limit.
func limited(t *testing.T, m *kvhttp.Metrics, limit string) int {
	t.Helper()
	w := call(m, "GET", "/metrics", "")
	found := regexp.MustCompile(`(?m)^fencelab_storage_limited_total\{limit="` + limit + `"\} (\d+)$`).FindSubmatch(w.Body.Bytes())
	if found == nil {
		t.Fatalf("the metrics have no limit %q:\n%s", limit, w.Body)
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

// wantLimit fails the test unless an answer is the refusal of a limit.
func wantLimit(t *testing.T, status int, h http.Header, body []byte, wantStatus int, limit string, max int64) {
	t.Helper()
	var p struct {
		Status         int
		Limit, Outcome string
		Max            int64
	}
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if status != wantStatus || p.Status != wantStatus || p.Limit != limit || p.Max != max || h.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s %s\nwant %d, limit %s, max %d", status, h.Get("Content-Type"), body, wantStatus, limit, max)
	}
	wantOutcome := ""
	if wantStatus >= 500 {
		wantOutcome = kvhttp.OutcomeNone
	}
	if h.Get(kvhttp.HeaderOutcome) != wantOutcome || p.Outcome != wantOutcome {
		t.Errorf("the outcome is %q, in the document %q, want %q", h.Get(kvhttp.HeaderOutcome), p.Outcome, wantOutcome)
	}
	if again := status == 503 || status == 429; again != (h.Get("Retry-After") != "") {
		t.Errorf("%d with Retry-After %q", status, h.Get("Retry-After"))
	}
}

// TestEachLimitRefuses: over each limit a request is refused with the limit's
// status, document and metric, and neither value nor mark changes; what is just
// within it is done.
func TestEachLimitRefuses(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	batch := func(n int, op string) string {
		return `{"ops":[` + strings.Repeat(op+",", n-1) + op + `]}`
	}
	const op = `{"op":"delete","key":"b"}`
	scoped := []string{"Fencing-Token", "9", "Fencing-Scope", "a"}
	for _, tt := range []struct {
		name, method, path, body, within string // one of path and body is longer than within
		header                           []string
		chunked                          bool
		status                           int
		limit                            string
		max                              int64
	}{
		{"body", "PUT", "/v1/kv/a", x(100_001), x(20), nil, false, 413, kv.LimitBody, 100_000},
		{"body chunked", "PUT", "/v1/kv/a", x(100_001), x(20), nil, true, 413, kv.LimitBody, 100_000},
		{"value", "PUT", "/v1/kv/a", x(21), x(20), nil, false, 413, kv.LimitValue, 20},
		{"value chunked", "PUT", "/v1/kv/a", x(21), x(20), nil, true, 413, kv.LimitValue, 20},
		{"value in a batch", "POST", "/v1/batch", `{"ops":[` + op + `,{"op":"write","key":"a","val":"` + x(21) + `"}]}`,
			`{"ops":[{"op":"write","key":"a","val":"` + x(20) + `"}]}`, scoped, false, 413, kv.LimitValue, 20},
		{"key in the path", "PUT", "/v1/kv/" + x(11), "", "/v1/kv/" + x(10), nil, false, 414, kv.LimitKey, 10},
		{"key of a read", "GET", "/v1/kv/" + x(11), "", "", nil, false, 414, kv.LimitKey, 10},
		{"key of a delete", "DELETE", "/v1/kv/" + x(11), "", "/v1/kv/" + x(10), nil, false, 414, kv.LimitKey, 10},
		{"key in a batch", "POST", "/v1/batch", `{"ops":[` + op + `,{"op":"delete","key":"` + x(11) + `"}]}`,
			`{"ops":[{"op":"delete","key":"` + x(10) + `"}]}`, scoped, false, 414, kv.LimitKey, 10},
		{"ops", "POST", "/v1/batch", batch(1025, op), batch(1024, op), scoped, false, 413, kv.LimitOps, 1024},
		{"ops that are empty", "POST", "/v1/batch", batch(30_000, "{}"), "", scoped, false, 413, kv.LimitOps, 1024},
	} {
		for _, kind := range local {
			t.Run(tt.name+"/"+kind.Name, func(t *testing.T) {
				e, m := kind.Open(t, kv.Options{}), kvhttp.NewMetrics()
				h := kvhttp.NewHandler(e, kvhttp.Options{Limits: kvhttp.Limits{Body: 100_000, Value: 20, Key: 10}, Metrics: m})
				send := func(path, body string) *httptest.ResponseRecorder {
					r := httptest.NewRequest(tt.method, path, strings.NewReader(body))
					if tt.chunked {
						r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(body))
					}
					r.Header.Set("Fencing-Token", "9")
					r.Header.Set("Fencing-Scope", "a")
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					return w
				}
				call(h, "PUT", "/v1/kv/a", "kept", "Fencing-Token", "5")
				call(h, "PUT", "/v1/kv/b", "kept", "Fencing-Token", "5")
				w := send(tt.path, tt.body)
				wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), tt.status, tt.limit, tt.max)
				if tt.limit == kv.LimitBody && w.Header().Get("Connection") != "close" {
					t.Error("the connection stays, with the rest of the body to come")
				}
				if n := limited(t, m, tt.limit); n != 1 {
					t.Errorf("the metric counts %d, want 1", n)
				}
				for _, key := range []string{"a", "b"} {
					if item, err := e.Read(t.Context(), kv.Request{}, key); err != nil || item.Value != "kept" || item.Token != 5 {
						t.Errorf("afterwards %s is %+v, %v", key, item, err)
					}
				}
				if mark, err := e.Mark(t.Context(), "a"); err != nil || mark.Token != 5 {
					t.Errorf("afterwards the mark is %+v, %v", mark, err)
				}
				if tt.within == "" {
					return
				}
				path, body := tt.path, tt.within
				if strings.HasPrefix(body, "/") {
					path, body = body, ""
				}
				if w := send(path, body); w.Code != 204 {
					t.Errorf("within the limit: %d %s", w.Code, w.Body)
				}
			})
		}
	}
}

// TestLimitsOfContribLock: its refusals have the same statuses and headers, in
// its own JSON: a client that looks at nothing but "err" must not take one for a
// success.
func TestLimitsOfContribLock(t *testing.T) {
	x := strings.Repeat("x", 30)
	for _, tt := range []struct {
		body   string
		status int
		limit  string
	}{
		{`{"op":"write","key":"` + x + `","val":"","version":9}`, 414, kv.LimitKey},
		{`{"op":"read","key":"` + x + `"}`, 414, kv.LimitKey},
		{`{"op":"write","key":"a","val":"` + x + `","version":9}`, 413, kv.LimitValue},
		{`{"op":"write","key":"a","val":"` + strings.Repeat("x", 300) + `","version":9}`, 413, kv.LimitBody},
		{`{"op":"write","key":"new","val":"","version":9}`, 507, kv.LimitKeys},
	} {
		e, m := kv.NewMemory(kv.Options{MaxKeys: 1}), kvhttp.NewMetrics()
		h := kvhttp.NewHandler(e, kvhttp.Options{Limits: kvhttp.Limits{Body: 200, Value: 20, Key: 10}, Metrics: m})
		call(h, "POST", "/", `{"op":"write","key":"a","val":"kept","version":5}`)
		w := call(h, "POST", "/", tt.body)
		wantContrib(t, w, tt.status)
		if n := limited(t, m, tt.limit); n != 1 {
			t.Errorf("%s: the metric counts %d, want 1", tt.limit, n)
		}
		if item, err := e.Read(t.Context(), kv.Request{}, "a"); err != nil || item.Value != "kept" {
			t.Errorf("afterwards a is %+v, %v", item, err)
		}
	}
}

func wantContrib(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	var resp kvhttp.ContribResponse
	if err := json.Unmarshal(w.Body.Bytes(), &resp); err != nil || w.Code != status || resp.Version != -1 || !strings.Contains(resp.Err, "over the limit") {
		t.Errorf("got %d %s (%v), want %d in contrib/lock's JSON", w.Code, w.Body, err, status)
	}
	if status >= 500 && w.Header().Get(kvhttp.HeaderOutcome) != kvhttp.OutcomeNone {
		t.Errorf("%d without the outcome: %v", status, w.Header())
	}
}

// TestLimitOfKeys: at the limit a new key is refused; keys that are there can be
// overwritten and deleted, which makes room.
func TestLimitOfKeys(t *testing.T) {
	for _, kind := range local {
		t.Run(kind.Name, func(t *testing.T) {
			e, m := kind.Open(t, kv.Options{MaxKeys: 3}), kvhttp.NewMetrics()
			h := kvhttp.NewHandler(e, kvhttp.Options{Metrics: m})
			header := []string{"Fencing-Token", "1", "Fencing-Scope", "/lock"}
			refused := 0
			try := func(ok bool, method, path, body string) {
				t.Helper()
				w := call(h, method, path, body, header...)
				switch {
				case ok && w.Code != 204:
					t.Errorf("%s %s %s: %d %s", method, path, body, w.Code, w.Body)
				case !ok:
					refused++
					wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), 507, kv.LimitKeys, 3)
				}
			}
			has := func(keys ...string) {
				t.Helper()
				stats, err := e.Stats(t.Context())
				if err != nil || stats.Keys != int64(len(keys)) {
					t.Errorf("%+v, %v, want %d keys", stats, err, len(keys))
				}
				for _, key := range keys {
					if _, err := e.Read(t.Context(), kv.Request{}, key); err != nil {
						t.Errorf("%s: %v", key, err)
					}
				}
			}
			ops := func(ops string) string { // w or d, and a key
				var list []string
				for _, op := range strings.Fields(ops) {
					if op[0] == 'w' {
						list = append(list, fmt.Sprintf(`{"op":"write","key":%q,"val":""}`, op[1:]))
					} else {
						list = append(list, fmt.Sprintf(`{"op":"delete","key":%q}`, op[1:]))
					}
				}
				return `{"ops":[` + strings.Join(list, ",") + `]}`
			}
			try(true, "POST", "/v1/batch", ops("wa wb wc wa wb")) // three keys, though five writes
			has("a", "b", "c")
			try(false, "PUT", "/v1/kv/d", "")
			try(true, "PUT", "/v1/kv/a", "other")
			try(false, "POST", "/v1/batch", ops("wa wd"))
			try(false, "POST", "/v1/batch", ops("da da wd we")) // makes one free, not two
			try(false, "POST", "/v1/batch", ops("da wa wd"))
			has("a", "b", "c")
			try(true, "POST", "/v1/batch", ops("wd da")) // in the end as many
			has("b", "c", "d")
			try(true, "DELETE", "/v1/kv/b", "")
			try(true, "DELETE", "/v1/kv/none", "")
			try(true, "PUT", "/v1/kv/e", "")
			has("c", "d", "e")
			if n := limited(t, m, kv.LimitKeys); n != refused {
				t.Errorf("the metric counts %d, want %d", n, refused)
			}
		})
	}
}

// TestLimitOfMarks: a scope more than the limit is refused, whatever would make
// its mark; scopes that have one go on, and a floor makes room.
func TestLimitOfMarks(t *testing.T) {
	for _, kind := range local {
		t.Run(kind.Name, func(t *testing.T) {
			e, m := kind.Open(t, kv.Options{MaxMarks: 2}), kvhttp.NewMetrics()
			h := kvhttp.NewHandler(e, kvhttp.Options{Metrics: m})
			do := func(method, scope, token string) *httptest.ResponseRecorder {
				return call(h, method, "/v1/kv/key", "x", "Fencing-Token", token, "Fencing-Scope", scope)
			}
			want := func(status int, w *httptest.ResponseRecorder) {
				t.Helper()
				if w.Code != status {
					t.Errorf("%d %s, want %d", w.Code, w.Body, status)
				}
			}
			want(204, do("PUT", "a", "1"))
			want(204, do("PUT", "b", "1"))
			for _, method := range []string{"PUT", "GET", "DELETE"} {
				w := do(method, "c", "1")
				wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), 507, kv.LimitMarks, 2)
			}
			if n := limited(t, m, kv.LimitMarks); n != 3 {
				t.Errorf("the metric counts %d, want 3", n)
			}
			if item, err := e.Read(t.Context(), kv.Request{}, "key"); err != nil || item.Token != 1 {
				t.Errorf("afterwards the key is %+v, %v", item, err)
			}
			want(428, call(h, "PUT", "/v1/kv/key", "x", "Fencing-Scope", "c")) // why it is wrong for ever comes first
			want(200, do("GET", "a", "2"))
			want(204, do("PUT", "b", "2"))
			want(412, do("PUT", "b", "1"))
			want(200, call(h, "PUT", "/v1/floor", `{"token":"3"}`)) // above all marks
			want(412, do("PUT", "c", "2"))
			want(204, do("PUT", "c", "4"))
			want(204, do("PUT", "a", "4"))
			want(507, do("PUT", "d", "4"))
			want(412, do("PUT", "d", "2"))
		})
	}
}
