package kvhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// raw sends one request as it is written: a client of package http would clean or
// encode some paths.
func raw(t *testing.T, addr, method, target, host string, header ...string) (*http.Response, string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 1\r\n%s\r\nx", method, target, host, strings.Join(append(header, ""), "\r\n"))
	answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return answer, string(body)
}

// TestPaths writes to each path, and says which key was written or how the path was
// refused.
func TestPaths(t *testing.T) {
	const noPath = 404
	for target, want := range map[string]any{
		"/v1/kv/a":            "a",
		"/v1/kv/a/b":          "a/b",
		"/v1/kv//a":           "/a",
		"/v1/kv//":            "/",
		"/v1/kv/a//b/":        "a//b/",
		"/v1/kv/..":           "..",
		"/v1/kv/../kv/a":      "../kv/a",
		"/v1/kv/a/../../b":    "a/../../b",
		"/v1/kv/%2e%2E":       "..",
		"/v1/kv/a%2Fb":        "a/b",
		"/v1/kv/a%2fb":        "a/b",
		"/v1/kv/%2f":          "/",
		"/v1/kv/a%252Fb":      "a%2Fb",
		"/v1/kv/a%3Fb":        "a?b",
		"/v1/kv/a?b=c":        "a",
		"/v1/kv/a%23b":        "a#b",
		"/v1/kv/a%20b+c":      "a b+c",
		"/v1/kv/é":            "é",
		"/v1/kv/%C3%A9":       "é",
		"/v1/kv/%ff":          "\xff",
		"/v1/kv/%00%0a":       "\x00\n",
		"/v1/kv/{key}":        "{key}",
		"/v1/kv/a;b:c@d!$&'*": "a;b:c@d!$&'*",
		"/v1/kv/<\"^`|\\>":    "<\"^`|\\>",

		"http://localhost/v1/kv/a": "a",

		"/v1/kv/":       400, // the key is empty
		"/v1/kv/?a":     400,
		"/v1/kv/%":      400, // by package http
		"/v1/kv":        noPath,
		"/v1//kv/a":     noPath,
		"//v1/kv/a":     noPath,
		"/./v1/kv/a":    noPath,
		"/v1/../v1/kv/": noPath,
		"/v1/KV/a":      noPath,
		"/v1/kva":       noPath,
		"/v1/batch/":    noPath,
		"/v1/floor/x":   noPath,
		"/v1/floor%0a":  noPath,
		"/v1/marks":     noPath,
		"//":            noPath,
		"/é":            noPath,

		// Only what is written as a route is one.
		"/v1%2fkv%2fx":  noPath,
		"/v1/kv%2Fx":    noPath,
		"/v1/%6bv/x":    noPath,
		"/v1%2Fbatch":   noPath,
		"%2Fv1/kv/a":    400, // by package http
		"/v1/%66loor":   noPath,
		"/healthz%2f..": noPath,

		"/":             405,
		"/healthz":      405,
		"/v1/batch":     405,
		"/v1/marks/":    405,
		"/v1/marks/a/b": 405,
		"/v1/snapshot":  405,
	} {
		t.Run(target, func(t *testing.T) {
			srv := httptest.NewServer(newHandler())
			defer srv.Close()
			answer, body := raw(t, srv.Listener.Addr().String(), "PUT", target, "localhost", "Fencing-Token: 34", "Fencing-Scope: /lock")
			key, done := want.(string)
			if !done {
				if answer.StatusCode != want {
					t.Errorf("got %d %s, want %d", answer.StatusCode, body, want)
				}
				if want == noPath && !strings.Contains(body, `"detail":"no such path: `) {
					t.Errorf("the answer is %s", body)
				}
				return
			}
			if answer.StatusCode != 204 {
				t.Fatalf("got %d %s, want 204", answer.StatusCode, body)
			}
			client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
			defer client.Close()
			if item, err := client.Read(t.Context(), kv.Request{}, key); err != nil || item.Value != "x" {
				t.Errorf("key %q: %+v, %v", key, item, err)
			}
		})
	}
}

// TestOtherMethodsAreRefused by each route, with a list of those that it has.
func TestOtherMethodsAreRefused(t *testing.T) {
	allowed := map[string]string{
		"/v1/kv/a": "GET, HEAD, PUT, DELETE", "/v1/kv/": "GET, HEAD, PUT, DELETE", "/v1/kv//x/..": "GET, HEAD, PUT, DELETE",
		"/": "POST", "/v1/batch": "POST", "/v1/marks/a": "GET, HEAD", "/v1/marks/": "GET, HEAD", "/v1/floor": "GET, HEAD, PUT",
		"/v1/snapshot": "GET", "/healthz": "GET, HEAD", "/readyz": "GET, HEAD", "/openapi.yaml": "GET, HEAD", "/metrics": "GET, HEAD",
	}
	h := newHandler()
	for path, list := range allowed {
		for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get"} {
			if strings.Contains(list, method) {
				continue
			}
			w := call(h, method, path, "x", "Fencing-Token", "not one")
			if w.Code != 405 || w.Header().Get("Allow") != list || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s %s: %d, Allow %q, %s, want 405 and %q", method, path, w.Code, w.Header().Get("Allow"), w.Body, list)
			}
		}
	}
}
