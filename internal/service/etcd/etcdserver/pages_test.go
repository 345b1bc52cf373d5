package etcdserver_test

import (
	"net/http"
	"testing"

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
