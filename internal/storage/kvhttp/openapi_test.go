package kvhttp_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// document is /openapi.yaml as the storage serves it, valid with all its
// examples.
func document(t *testing.T) *openapi3.T {
	w := call(newHandler(), "GET", "/openapi.yaml", "")
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// request is one that the document describes.
type request struct {
	method, path, body string
	header             []string
}

// honest has for each operation of the document, as "METHOD PATH", a request
// that a storage does in which the key is a, of token 34.
var honest = map[string]request{
	"PUT /v1/kv/{key}":      {"PUT", "/v1/kv/a", "x", []string{"Fencing-Token", "34", "Content-Type", "application/octet-stream"}},
	"GET /v1/kv/{key}":      {"GET", "/v1/kv/a", "", nil},
	"HEAD /v1/kv/{key}":     {"HEAD", "/v1/kv/a", "", nil},
	"DELETE /v1/kv/{key}":   {"DELETE", "/v1/kv/b", "", []string{"Fencing-Token", "34"}},
	"POST /v1/batch":        {"POST", "/v1/batch", `{"ops":[{"op":"write","key":"c","val":"1"},{"op":"delete","key":"b"}]}`, []string{"Fencing-Token", "34", "Fencing-Scope", "/lock", "Content-Type", "application/json"}},
	"GET /v1/marks/{scope}": {"GET", "/v1/marks/a", "", nil}, "HEAD /v1/marks/{scope}": {"HEAD", "/v1/marks/a", "", nil},
	"GET /v1/floor": {"GET", "/v1/floor", "", nil}, "HEAD /v1/floor": {"HEAD", "/v1/floor", "", nil},
	"PUT /v1/floor":     {"PUT", "/v1/floor", `{"token":"7"}`, []string{"Content-Type", "application/json"}},
	"GET /v1/snapshot":  {"GET", "/v1/snapshot", "", nil},
	"GET /healthz":      {"GET", "/healthz", "", nil},
	"HEAD /healthz":     {"HEAD", "/healthz", "", nil},
	"GET /readyz":       {"GET", "/readyz", "", nil},
	"HEAD /readyz":      {"HEAD", "/readyz", "", nil},
	"GET /metrics":      {"GET", "/metrics", "", nil},
	"HEAD /metrics":     {"HEAD", "/metrics", "", nil},
	"GET /openapi.yaml": {"GET", "/openapi.yaml", "", nil}, "HEAD /openapi.yaml": {"HEAD", "/openapi.yaml", "", nil},
	"POST /": {"POST", "/", `{"op":"write","key":"a","val":"x","version":34}`, []string{"Content-Type", "application/json"}},
}

// operations are those of the document, by "METHOD PATH".
func operations(doc *openapi3.T) map[string]*routers.Route {
	all := make(map[string]*routers.Route)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			all[method+" "+path] = &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: op}
		}
	}
	return all
}

// TestDocumentHasWhatTheHandlerServes, and nothing else: paths, and methods.
func TestDocumentHasWhatTheHandlerServes(t *testing.T) {
	doc := document(t)
	described := operations(doc)
	paths := slices.Sorted(maps.Keys(doc.Paths.Map()))
	served := slices.Sorted(slices.Values(kvhttp.Routes(newHandler())))
	if !slices.Equal(paths, served) {
		t.Errorf("the document has the paths\n%q\nthe handler\n%q", paths, served)
	}
	for path := range doc.Paths.Map() {
		for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"} {
			r := request{method: method, path: strings.NewReplacer("{key}", "a", "{scope}", "a").Replace(path)}
			if known, ok := honest[method+" "+path]; ok {
				r = known
			}
			w := call(seeded(t, nil, kvhttp.Options{Metrics: kvhttp.NewMetrics()}), r.method, r.path, r.body, r.header...)
			if has := described[method+" "+path] != nil; has != (w.Code != 405 && w.Code != 404) {
				t.Errorf("%s %s is in the document: %v, and the handler answers %d", method, path, has, w.Code)
			}
		}
	}
}

// seeded is a storage in which key a has a value of token 34. Its engine is e,
// or a new one where e is nil.
func seeded(t *testing.T, e kv.Engine, o kvhttp.Options) http.Handler {
	if e == nil {
		e = kv.NewMemory(kv.Options{})
	}
	req := kv.Request{Claim: fence.Claim{Scope: "a", Token: 34}}
	if err := e.Write(t.Context(), req, kv.Op{Kind: kv.OpWrite, Key: "a", Value: "x"}); err != nil {
		t.Fatal(err)
	}
	return kvhttp.NewHandler(e, o)
}

// TestAnswersAreAsDocumented provokes every status that the document promises, by
// real requests, and checks that the answer has the status, headers and body that
// the document allows.
func TestAnswersAreAsDocumented(t *testing.T) {
	doc := document(t)
	a := answers{doc: doc, operations: operations(doc), seen: make(map[string]bool)}

	plain := func() http.Handler { return seeded(t, nil, kvhttp.Options{Metrics: kvhttp.NewMetrics()}) }
	for op, r := range honest {
		want := 200
		if r.method == "PUT" && r.path == "/v1/kv/a" || r.method == "DELETE" || r.path == "/v1/batch" {
			want = 204
		}
		a.check(t, plain(), op, r, want)
	}
	a.check(t, kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}), "GET /metrics", honest["GET /metrics"], 404)
	a.check(t, kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}), "HEAD /metrics", honest["HEAD /metrics"], 404)

	// Whatever asks the engine tells how it failed.
	for _, fault := range []struct {
		status int
		err    error
	}{
		{500, errors.New("a fault")},
		{500, fence.Definite.New("a fault")},
		{503, fmt.Errorf("%w: no leader", kv.ErrUnavailable)},
		{503, kv.ErrClosed},
		{507, fmt.Errorf("%w: no space left", kv.ErrDisk)},
	} {
		h := kvhttp.NewHandler(kvtest.Failing{Engine: kv.NewMemory(kv.Options{}), Err: fault.err}, kvhttp.Options{})
		for op, r := range honest {
			switch {
			case a.operations[op] == nil || a.operations[op].Operation.Responses.Status(fault.status) == nil:
			case r.path != "/readyz" || fault.status == 503:
				a.check(t, h, op, r, fault.status)
			}
		}
	}

	// Nobody knows who asks, or it is known that they may not.
	for op, r := range honest {
		if a.operations[op] == nil || a.operations[op].Operation.Responses.Status(401) == nil {
			continue
		}
		right := access.Observe
		if r.path == "/metrics" {
			right = access.Read
		}
		policy, secret := policyOf(t, right)
		h := seeded(t, nil, kvhttp.Options{Metrics: kvhttp.NewMetrics(), Access: policy})
		a.check(t, h, op, r, 401)
		r.header = append([]string{"Authorization", "Bearer " + secret}, r.header...)
		a.check(t, h, op, r, 403)
	}

	// Too often.
	for op, r := range honest {
		if a.operations[op] != nil && a.operations[op].Operation.Responses.Status(429) != nil {
			h := seeded(t, nil, kvhttp.Options{Limits: kvhttp.Limits{Rate: 1}, Metrics: kvhttp.NewMetrics()})
			srv := httptest.NewServer(h)
			_, _ = a.send(t, srv, r)
			a.checkAt(t, srv, op, r, 429)
			srv.Close()
		}
	}

	bounded := func() http.Handler {
		bound := func(fence.Claim) (fence.Token, error) { return 40, nil }
		return seeded(t, kv.NewMemory(kv.Options{Bound: bound}), kvhttp.Options{Bound: bound})
	}
	unbounded := func() http.Handler {
		return kvhttp.NewHandler(kv.NewMemory(kv.Options{Bound: func(fence.Claim) (fence.Token, error) {
			return 0, errors.New("etcd is down")
		}}), kvhttp.Options{})
	}
	narrow := func() http.Handler {
		return seeded(t, kv.NewMemory(kv.Options{MaxKeys: 1, MaxMarks: 1}), kvhttp.Options{Limits: kvhttp.Limits{Body: 300, Key: 10, Value: 100, Memory: 1 << 30}})
	}
	binary := func() http.Handler {
		h := plain()
		call(h, "PUT", "/v1/kv/a", "\xff", "Fencing-Token", "34")
		call(h, "PUT", "/v1/kv/%ff", "x", "Fencing-Token", "34")
		return h
	}
	long, huge := strings.Repeat("k", 11), strings.Repeat("v", 301)
	token := func(token string, more ...string) []string { return append([]string{"Fencing-Token", token}, more...) }
	scoped := func(t string) []string { return token(t, "Fencing-Scope", "a") }
	const batchA = `{"ops":[{"op":"write","key":"a","val":"1"}]}`
	for _, tt := range []struct {
		h    http.Handler
		op   string
		want int
		request
	}{
		{plain(), "PUT /v1/kv/{key}", 204, request{"PUT", "/v1/kv/b", "x", token("34", "Fencing-Sequence", "3", "Fencing-Scope", "/lock", "X-Request-Id", "me-1")}},
		{plain(), "PUT /v1/kv/{key}", 400, request{"PUT", "/v1/kv/", "x", token("34")}},
		{plain(), "PUT /v1/kv/{key}", 400, request{"PUT", "/v1/kv/a", "x", token("12.0", "X-Request-Id", "me-1")}},
		{plain(), "PUT /v1/kv/{key}", 400, request{"PUT", "/v1/kv/a", "x", token("34", "Fencing-Sequence", "0")}},
		{plain(), "PUT /v1/kv/{key}", 400, request{"PUT", "/v1/kv/a", "x", token("34", "Fencing-Scope", "")}},
		{plain(), "PUT /v1/kv/{key}", 412, request{"PUT", "/v1/kv/a", "x", token("33")}},
		{plain(), "PUT /v1/kv/{key}", 428, request{"PUT", "/v1/kv/a", "x", nil}},
		{bounded(), "PUT /v1/kv/{key}", 422, request{"PUT", "/v1/kv/a", "x", token("41")}},
		{unbounded(), "PUT /v1/kv/{key}", 503, request{"PUT", "/v1/kv/a", "x", token("41")}},
		{narrow(), "PUT /v1/kv/{key}", 413, request{"PUT", "/v1/kv/a", huge, token("34")}},
		{narrow(), "PUT /v1/kv/{key}", 413, request{"PUT", "/v1/kv/a", huge[:101], token("34")}},
		{narrow(), "PUT /v1/kv/{key}", 414, request{"PUT", "/v1/kv/" + long, "x", token("34")}},
		{narrow(), "PUT /v1/kv/{key}", 507, request{"PUT", "/v1/kv/b", "x", scoped("34")}},
		{narrow(), "PUT /v1/kv/{key}", 507, request{"PUT", "/v1/kv/a", "x", token("34", "Fencing-Scope", "b")}},
		{kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Limits: kvhttp.Limits{Memory: 1}}), "PUT /v1/kv/{key}", 503,
			request{"PUT", "/v1/kv/a", strings.Repeat("v", 1<<16), token("34")}},

		{plain(), "GET /v1/kv/{key}", 200, request{"GET", "/v1/kv/a", "", token("35")}},
		{plain(), "GET /v1/kv/{key}", 400, request{"GET", "/v1/kv/a", "", token("x")}},
		{plain(), "GET /v1/kv/{key}", 404, request{"GET", "/v1/kv/none", "", nil}},
		{plain(), "GET /v1/kv/{key}", 412, request{"GET", "/v1/kv/a", "", token("33")}},
		{bounded(), "GET /v1/kv/{key}", 422, request{"GET", "/v1/kv/a", "", token("41")}},
		{narrow(), "GET /v1/kv/{key}", 414, request{"GET", "/v1/kv/" + long, "", nil}},
		{narrow(), "GET /v1/kv/{key}", 507, request{"GET", "/v1/kv/b", "", token("34")}},
		{plain(), "HEAD /v1/kv/{key}", 400, request{"HEAD", "/v1/kv/a", "", token("x")}},
		{plain(), "HEAD /v1/kv/{key}", 404, request{"HEAD", "/v1/kv/none", "", nil}},
		{plain(), "HEAD /v1/kv/{key}", 412, request{"HEAD", "/v1/kv/a", "", token("33")}},
		{bounded(), "HEAD /v1/kv/{key}", 422, request{"HEAD", "/v1/kv/a", "", token("41")}},
		{narrow(), "HEAD /v1/kv/{key}", 414, request{"HEAD", "/v1/kv/" + long, "", nil}},

		{plain(), "DELETE /v1/kv/{key}", 400, request{"DELETE", "/v1/kv/a", "", token("x")}},
		{plain(), "DELETE /v1/kv/{key}", 412, request{"DELETE", "/v1/kv/a", "", token("33")}},
		{plain(), "DELETE /v1/kv/{key}", 428, request{"DELETE", "/v1/kv/a", "", nil}},
		{bounded(), "DELETE /v1/kv/{key}", 422, request{"DELETE", "/v1/kv/a", "", token("41")}},
		{narrow(), "DELETE /v1/kv/{key}", 414, request{"DELETE", "/v1/kv/" + long, "", token("34")}},
		{narrow(), "DELETE /v1/kv/{key}", 507, request{"DELETE", "/v1/kv/b", "", token("34")}},

		{plain(), "POST /v1/batch", 400, request{"POST", "/v1/batch", batchA, token("34")}},
		{plain(), "POST /v1/batch", 400, request{"POST", "/v1/batch", `{"ops":[]}`, scoped("34")}},
		{plain(), "POST /v1/batch", 412, request{"POST", "/v1/batch", batchA, scoped("33")}},
		{plain(), "POST /v1/batch", 428, request{"POST", "/v1/batch", batchA, scoped("")[2:]}},
		{bounded(), "POST /v1/batch", 422, request{"POST", "/v1/batch", batchA, scoped("41")}},
		{narrow(), "POST /v1/batch", 413, request{"POST", "/v1/batch", huge, scoped("34")}},
		{plain(), "POST /v1/batch", 413, request{"POST", "/v1/batch", `{"ops":[` + strings.Repeat(`{"op":"delete","key":"a"},`, kv.MaxOps) + `{}]}`, scoped("34")}},
		{narrow(), "POST /v1/batch", 414, request{"POST", "/v1/batch", `{"ops":[{"op":"delete","key":"` + long + `"}]}`, scoped("34")}},

		{plain(), "GET /v1/marks/{scope}", 200, request{"GET", "/v1/marks/none", "", nil}},
		{plain(), "GET /v1/marks/{scope}", 400, request{"GET", "/v1/marks/", "", nil}},
		{plain(), "HEAD /v1/marks/{scope}", 400, request{"HEAD", "/v1/marks/", "", nil}},
		{binary(), "GET /v1/marks/{scope}", 406, request{"GET", "/v1/marks/%ff", "", nil}},
		{binary(), "HEAD /v1/marks/{scope}", 406, request{"HEAD", "/v1/marks/%ff", "", nil}},
		{binary(), "PUT /v1/kv/{key}", 412, request{"PUT", "/v1/kv/%ff", "x", token("33")}},

		{plain(), "PUT /v1/floor", 400, request{"PUT", "/v1/floor", `{"token":7}`, nil}},
		{plain(), "PUT /v1/floor", 400, request{"PUT", "/v1/floor", `{"token":"07"}`, nil}},
		{narrow(), "PUT /v1/floor", 413, request{"PUT", "/v1/floor", huge, nil}},
		{bounded(), "PUT /v1/floor", 422, request{"PUT", "/v1/floor", `{"token":"42"}`, nil}},

		{plain(), "POST /", 200, request{"POST", "/", `{"op":"write","key":"a","val":"x","version":33}`, nil}},
		{plain(), "POST /", 200, request{"POST", "/", `{"op":"read","key":"none"}`, nil}},
		{plain(), "POST /", 400, request{"POST", "/", "", nil}},
		{binary(), "POST /", 406, request{"POST", "/", `{"op":"read","key":"a"}`, nil}},
		{plain(), "POST /", 428, request{"POST", "/", `{"op":"write","key":"a","val":"x"}`, nil}},
		{bounded(), "POST /", 422, request{"POST", "/", `{"op":"write","key":"a","version":41}`, nil}},
		{narrow(), "POST /", 413, request{"POST", "/", huge, nil}},
		{narrow(), "POST /", 414, request{"POST", "/", `{"op":"read","key":"` + long + `"}`, nil}},
		{narrow(), "POST /", 507, request{"POST", "/", `{"op":"write","key":"b","version":34}`, nil}},
	} {
		a.check(t, tt.h, tt.op, tt.request, tt.want)
	}

	again := plain()
	twice := request{"PUT", "/v1/kv/a", "x", token("34", "Fencing-Sequence", "3")}
	call(again, twice.method, twice.path, twice.body, twice.header...)
	if resp := a.check(t, again, "PUT /v1/kv/{key}", twice, 204); resp.Header.Get("Fencing-Duplicate") != "true" {
		t.Error("the same sequence number again is no duplicate")
	}

	// A body that does not come.
	slow := httptest.NewUnstartedServer(plain())
	slow.Config.ReadHeaderTimeout, slow.Config.ReadTimeout = time.Minute, 50*time.Millisecond
	slow.Start()
	defer slow.Close()
	for op, r := range honest {
		if a.operations[op] != nil && a.operations[op].Operation.Responses.Status(408) != nil {
			a.stall(t, slow, op, r)
		}
	}

	a.checkShared(t, plain(), "MethodNotAllowed", request{method: "PATCH", path: "/v1/kv/a"}, 405)
	a.checkShared(t, plain(), "MethodNotAllowed", request{method: "PUT", path: "/metrics"}, 405)
	a.checkShared(t, plain(), "NoSuchPath", request{method: "GET", path: "/v2"}, 404)

	page := []string{"Origin", "http://evil.example"}
	a.checkShared(t, plain(), "ForeignPage", request{"POST", "/", `{"op":"write","key":"a","version":99}`, page}, 403)
	a.checkShared(t, plain(), "ForeignPage", request{"HEAD", "/v1/kv/a", "", page}, 403)
	local := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Loopback: true})
	renamed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "evil.example"
		local.ServeHTTP(w, r)
	})
	a.checkShared(t, renamed, "ForeignHost", request{"PUT", "/v1/floor", `{"token":"7"}`, nil}, 421)

	for op, route := range a.operations {
		for status := range route.Operation.Responses.Map() {
			if !a.seen[op+" "+status] {
				t.Errorf("%s: status %s is in the document, and no request got it", op, status)
			}
		}
	}
}

// policyOf knows one client, with one right, and its secret.
func policyOf(t *testing.T, right access.Right) (policy *access.Policy, secret string) {
	t.Helper()
	secret, hash := access.Generate()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	text := fmt.Sprintf("tokens:\n  - name: somebody\n    sha256: %s\n    rights: [%s]\n", hash, right)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	policy, err := access.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return policy, secret
}
