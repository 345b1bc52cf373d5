package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// asPage sends what a browser would send for a web page, and returns status and
// body.
func asPage(t *testing.T, method, url, host, body string, header map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text := bodyOf(t, resp)
	if origin := resp.Header.Get("Access-Control-Allow-Origin"); origin == "*" || origin != "" && origin == header["Origin"] {
		t.Errorf("%s %s: a page of %s may read the answer", method, url, origin)
	}
	return resp.StatusCode, text
}

// TestWebPagesReachNothing: no listener that is there by default obeys a page that
// its user's browser shows, neither one of another origin nor one whose name points
// to loopback.
func TestWebPagesReachNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endpoint, _ := w.etcd()
	p, storage := w.storage("--pprof", "127.0.0.1:0")
	profiles := urlPattern.FindStringSubmatch(p.await("profiles"))[1]
	_, storage6 := w.storage("--listen", "[::1]:0")
	etcd := "http://" + strings.TrimPrefix(endpoint, "http://")

	foreign := map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}
	const poison = `{"op":"write","key":"key0","val":"x","version":9223372036854775807}`
	for _, url := range []string{storage, storage6} {
		if status, body := asPage(t, "POST", url, "", poison, foreign); status != 403 {
			t.Errorf("a page of another origin writes: %d %s", status, body)
		}
		if status, body := asPage(t, "PUT", url+"/v1/floor", "evil.example", `{"token":"9223372036854775807"}`, nil); status != 421 {
			t.Errorf("a page that was bound to loopback raises the floor: %d %s", status, body)
		}
		if got, want := post(t, url, `{"op":"write","key":"key0","val":"x","version":1}`), `{"val":"x","version":1,"err":""}`; got != want {
			t.Errorf("afterwards the first writer is told %s", got)
		}
	}
	for _, url := range []string{storage + "/metrics", profiles + "cmdline", etcd + "/metrics"} {
		if status, body := asPage(t, "GET", url, "", "", nil); status != 200 {
			t.Errorf("GET %s: %d %s", url, status, body)
		}
		if status, _ := asPage(t, "GET", url, "evil.example", "", nil); status != 421 {
			t.Errorf("GET %s of another host: %d", url, status)
		}
		asPage(t, "GET", url, "", "", foreign)
	}
	if status, body := asPage(t, "POST", profiles+"symbol", "", "0x1", foreign); status != 403 {
		t.Errorf("a page of another origin asks for profiles: %d %s", status, body)
	}
	if status, body := asPage(t, "POST", etcd+"/v3/kv/put", "", `{"key":"YQ==","value":"Yg=="}`, foreign); status != 404 {
		t.Errorf("a page of another origin writes to etcd: %d %s", status, body)
	}
}
