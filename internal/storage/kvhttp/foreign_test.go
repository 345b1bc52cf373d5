package kvhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

const highest = "9223372036854775807"

// harmful are requests each of which would lock out all others, or tell what is
// stored.
var harmful = []request{
	{"POST", "/", `{"op":"write","key":"a","val":"x","version":` + highest + `}`, []string{"Content-Type", "text/plain"}},
	{"PUT", "/v1/kv/a", "x", []string{"Fencing-Token", highest}},
	{"DELETE", "/v1/kv/a", "", []string{"Fencing-Token", highest}},
	{"GET", "/v1/kv/a", "", []string{"Fencing-Token", highest}}, // raises the mark
	{"HEAD", "/v1/kv/a", "", []string{"Fencing-Token", highest}},
	{"POST", "/v1/batch", `{"ops":[{"op":"write","key":"a","val":"x"}]}`, []string{"Fencing-Token", highest, "Fencing-Scope", "a"}},
	{"PUT", "/v1/floor", `{"token":"` + highest + `"}`, []string{"Content-Type", "text/plain"}},
	{"GET", "/v1/snapshot", "", nil},
	{"GET", "/v1/marks/a", "", nil},
	{"GET", "/metrics", "", nil},
	{"GET", "/healthz", "", nil},
	{"GET", "/readyz", "", nil},
	{"GET", "/openapi.yaml", "", nil},
	{"GET", "/no/such/path", "", nil},
	{"OPTIONS", "/v1/floor", "", []string{"Access-Control-Request-Method", "PUT"}},
}

// pages are what a browser adds to a request of a web page that is not the
// storage's.
var pages = map[string][]string{
	"by Origin":              {"Origin", "http://evil.example"},
	"of a sandbox":           {"Origin", "null"},
	"by Sec-Fetch-Site":      {"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"},
	"of another port":        {"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-site"},
	"an image, without CORS": {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
	"by a form":              {"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
}

// serve sends r to h as if to host.
func serve(h http.Handler, host string, r request) *httptest.ResponseRecorder {
	req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
	req.Host = host
	for i := 0; i < len(r.header); i += 2 {
		req.Header.Add(r.header[i], r.header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// refused checks the answer, and that a storage of seeded is as it was.
func refused(t *testing.T, h http.Handler, host string, r request, status int, says string) {
	t.Helper()
	w := serve(h, host, r)
	if w.Code != status || w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), says) {
		t.Errorf("%s %s to %s %q: %d %s, want %d and %q", r.method, r.path, host, r.header, w.Code, w.Body, status, says)
	}
	for path, want := range map[string]string{"/v1/kv/a": "x", "/v1/marks/a": `"token":"34"`, "/v1/floor": `"token":"0"`} {
		if w := serve(h, "localhost", request{method: "GET", path: path}); !strings.Contains(w.Body.String(), want) {
			t.Errorf("after %s %s to %s %q: GET %s: %s, want %s", r.method, r.path, host, r.header, path, w.Body, want)
		}
	}
}

// TestWebPagesAreRefused: no request of a web page of another origin is obeyed, be
// the storage on loopback or not.
func TestWebPagesAreRefused(t *testing.T) {
	for _, loopback := range []bool{true, false} {
		h := seeded(t, nil, kvhttp.Options{Loopback: loopback, Metrics: kvhttp.NewMetrics()})
		for name, page := range pages {
			for _, r := range harmful {
				r.header = append(page, r.header...)
				t.Run(name, func(t *testing.T) { refused(t, h, "localhost:8080", r, 403, "a program that is no browser") })
			}
		}
		w := serve(h, "localhost", request{method: "GET", path: "/metrics"})
		for _, path := range []string{"/", "/v1/batch"} {
			wantLines(t, w.Body.String(), fmt.Sprintf(`fencelab_storage_requests_total{method="POST",outcome="denied",route=%q} 6`, path))
		}
	}
}

// TestForeignHostsAreRefused, which a web page has whose own name points to
// 127.0.0.1: to a browser it is of the same origin.
func TestForeignHostsAreRefused(t *testing.T) {
	local := seeded(t, nil, kvhttp.Options{Loopback: true, Metrics: kvhttp.NewMetrics()})
	open := seeded(t, nil, kvhttp.Options{Metrics: kvhttp.NewMetrics()})
	rebound := []string{"Sec-Fetch-Site", "same-origin"}
	for _, host := range []string{
		"evil.example", "evil.example:8080", "localhost.evil.example:8080", "127.0.0.1.evil.example", "evil-localhost",
		"192.168.1.7:8080", "0.0.0.0:8080", "[::]:8080", "[2001:db8::1]:8080", "1.127.0.0.1",
	} {
		for _, r := range harmful {
			r.header = append(rebound, r.header...)
			refused(t, local, host, r, 421, "ask for localhost, 127.0.0.1 or [::1]")
		}
		if w := serve(open, host, request{method: "GET", path: "/v1/kv/a", header: rebound}); w.Code != 200 {
			t.Errorf("not on loopback, host %s: %d %s", host, w.Code, w.Body)
		}
	}
	for _, host := range []string{
		"", "localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:8080", "127.9.8.7:1", "[::1]", "[::1]:8080", "[::ffff:127.0.0.1]:8080",
	} {
		for _, header := range [][]string{nil, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://" + host}} {
			if host == "" && header != nil {
				continue // a browser names the host
			}
			if w := serve(local, host, request{method: "GET", path: "/v1/kv/a", header: header}); w.Code != 200 {
				t.Errorf("host %q, %q: %d %s", host, header, w.Code, w.Body)
			}
		}
	}
}

// TestGuard: what is none of the storage's is kept from web pages as well.
func TestGuard(t *testing.T) {
	h := kvhttp.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }),
		kvhttp.Options{Loopback: true})
	get := request{method: "GET", path: "/debug/pprof/"}
	if w := serve(h, "localhost", get); w.Code != 200 || w.Body.String() != "served" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := serve(h, "evil.example", get); w.Code != 421 {
		t.Errorf("another host: %d %s", w.Code, w.Body)
	}
	get.header = pages["by Origin"]
	if w := serve(h, "localhost", get); w.Code != 403 {
		t.Errorf("another origin: %d %s", w.Code, w.Body)
	}
}

// TestProgramsAreServed: a client that is no browser need not know of any of this.
func TestProgramsAreServed(t *testing.T) {
	srv := httptest.NewServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Loopback: true}))
	defer srv.Close()
	client := kvhttp.NewClient(srv.URL, kvhttp.ClientOptions{})
	defer client.Close()
	req := kv.Request{}
	req.Token = 1
	if _, err := client.Write(t.Context(), req, "a", "x"); err != nil {
		t.Error(err)
	}
	resp, err := http.Post(srv.URL, "application/json", strings.NewReader(`{"op":"write","key":"b","val":"x","version":1}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 {
		t.Errorf("contrib/lock's client: %d %s", resp.StatusCode, b)
	}
}
