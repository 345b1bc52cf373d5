package etcdserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// TestPagesStayOut: a web page cannot read what etcd tells by plain HTTP, not even
// one whose name points to loopback; etcd answers who asks for loopback.
func TestPagesStayOut(t *testing.T) {
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for host, want := range map[string]int{"": 200, "localhost:2379": 200, "[::1]:2379": 200, "evil.example": 421, "127.0.0.1.evil.example:2379": 421} {
		req, err := http.NewRequest("GET", "http://"+server.Endpoint()+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Origin", "http://evil.example")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("host %q: %s, want %d", host, resp.Status, want)
		}
		if allowed := resp.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
			t.Errorf("host %q: pages of %s may read the answer", host, allowed)
		}
	}
}

// TestGateway: etcd's JSON API answers, as curl asks it, and obeys no web page.
func TestGateway(t *testing.T) {
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir(), ClientAddr: proctest.Nobody(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	ask := func(path, body, origin string) (int, string) {
		req, err := http.NewRequest("POST", "http://"+server.Endpoint()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl -d has it, and a page may
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	for _, tt := range []struct {
		path, body, origin string
		status             int
		says               string
	}{
		{"/v3/kv/put", `{"key": "aw==", "value": "dg=="}`, "", 200, `"revision":"2"`},
		{"/v3/kv/put", `{"key": "aw==", "value": "eA=="}`, "http://evil.example", 403, "no page is obeyed"},
		{"/v3/watch", `{"create_request": {"key": "aw=="}}`, "null", 403, "no page is obeyed"},
		{"/v3/kv/range", `{"key": "aw=="}`, "", 200, `"value":"dg=="`},
		{"/v3/lease/grant", `{"ID": 7, "TTL": 60}`, "", 200, `"TTL":"60"`},
		{"/v3/lease/revoke", `{"ID": 7}`, "", 200, `"revision"`},
		{"/v3/lease/revoke", `{"ID": 7}`, "", 404, "lease not found"},
	} {
		if code, says := ask(tt.path, tt.body, tt.origin); code != tt.status || !strings.Contains(says, tt.says) {
			t.Errorf("%s %s, origin %q: %d and %s, want %d and %q", tt.path, tt.body, tt.origin, code, says, tt.status, tt.says)
		}
	}
}
