package kvhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// document is /openapi.yaml as the storage serves it, valid with all its

// answers compares answers with the document.
type answers struct {
	doc        *openapi3.T
	operations map[string]*routers.Route
	seen       map[string]bool // "METHOD PATH STATUS"
}

func (a *answers) send(t *testing.T, srv *httptest.Server, r request) (*http.Response, []byte) {
	t.Helper()
	return do(t, srv, r, strings.NewReader(r.body))
}

func do(t *testing.T, srv *httptest.Server, r request, body io.Reader) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(r.method, srv.URL+r.path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(r.header); i += 2 {
		req.Header.Add(r.header[i], r.header[i+1])
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return resp, b
}

func (a *answers) check(t *testing.T, h http.Handler, op string, r request, status int) *http.Response {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	return a.checkAt(t, srv, op, r, status)
}

func (a *answers) checkAt(t *testing.T, srv *httptest.Server, op string, r request, status int) *http.Response {
	t.Helper()
	resp, body := a.send(t, srv, r)
	a.compare(t, op, r, status, resp, body)
	return resp
}

// stall sends all of a request but its body.
func (a *answers) stall(t *testing.T, srv *httptest.Server, op string, r request) {
	t.Helper()
	never, end := io.Pipe()
	defer end.Close()
	resp, body := do(t, srv, r, never)
	a.compare(t, op, r, 408, resp, body)
}

func (a *answers) compare(t *testing.T, op string, r request, status int, resp *http.Response, body []byte) {
	t.Helper()
	where := fmt.Sprintf("%s %.60s: %d %s", r.method, r.path, resp.StatusCode, body)
	if resp.StatusCode != status {
		t.Errorf("%s, want %d", where, status)
		return
	}
	route := a.operations[op]
	if route == nil {
		t.Errorf("%s: the document has no %s", where, op)
		return
	}
	a.seen[fmt.Sprintf("%s %d", op, status)] = true
	promised := route.Operation.Responses.Status(status)
	if promised == nil {
		t.Errorf("%s: the document has no such status", where)
		return
	}
	if r.method == http.MethodHead && len(body) > 0 {
		t.Errorf("%s: a body", where)
	}
	if status == http.StatusOK || status == http.StatusNoContent {
		a.compareRequest(t, route, r)
	}
	a.compareResponse(t, where, route, r, resp, body)
}

// compareRequest checks that the document allows what the storage does.
func (a *answers) compareRequest(t *testing.T, route *routers.Route, r request) {
	t.Helper()
	req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	for i := 0; i < len(r.header); i += 2 {
		req.Header.Add(r.header[i], r.header[i+1])
	}
	if req.Header.Get("Content-Type") == "" && route.Operation.RequestBody != nil {
		for media := range route.Operation.RequestBody.Value.Content {
			req.Header.Set("Content-Type", media)
		}
	}
	last := r.path[strings.LastIndex(r.path, "/")+1:]
	err := openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
		Request: req, Route: route, PathParams: map[string]string{"key": last, "scope": last},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
	if err != nil {
		t.Errorf("%s %s is done, and is not as documented: %v", r.method, r.path, err)
	}
}

// ours are the headers that mean something: an answer has none that is not
// documented.
var ours = []string{"Fencing-Token", "Fencing-Mark", "Fencing-Bound", "Fencing-Refused", "Fencing-Field", "Fencing-Duplicate", "Fencing-Outcome",
	"X-Request-Id", "Retry-After", "Www-Authenticate", "Allow", "Content-Disposition"}

func (a *answers) compareResponse(t *testing.T, where string, route *routers.Route, r request, resp *http.Response, body []byte) {
	t.Helper()
	promised := route.Operation.Responses.Status(resp.StatusCode).Value
	for _, name := range ours {
		documented := false
		for header := range promised.Headers {
			documented = documented || http.CanonicalHeaderKey(header) == name
		}
		if _, has := resp.Header[name]; has && !documented {
			t.Errorf("%s: the header %s is not in the document", where, name)
		}
	}
	if len(promised.Content) == 0 && len(body) > 0 {
		t.Errorf("%s: a body that is not in the document", where)
	}
	// The library leaves the answers to HEAD alone, whose headers count here.
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: httptest.NewRequest("GET", "/", nil), Route: route},
		Status:                 resp.StatusCode, Header: resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: r.method == http.MethodHead},
	}
	in.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(t.Context(), in); err != nil {
		t.Errorf("%s\n%v: %v", where, resp.Header, err)
	}
}

// checkShared checks an answer that belongs to no operation.
func (a *answers) checkShared(t *testing.T, h http.Handler, name string, r request, status int) {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	resp, body := a.send(t, srv, r)
	where := fmt.Sprintf("%s %s: %d %s", r.method, r.path, resp.StatusCode, body)
	if resp.StatusCode != status {
		t.Errorf("%s, want %d", where, status)
		return
	}
	responses := openapi3.NewResponses(openapi3.WithStatus(status, a.doc.Components.Responses[name]))
	a.compareResponse(t, where, &routers.Route{Spec: a.doc, Operation: &openapi3.Operation{Responses: responses}}, r, resp, body)
}
