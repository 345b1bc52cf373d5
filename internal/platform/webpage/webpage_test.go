package webpage_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/webpage"
	"github.com/fencelab/fencelab/internal/platform/webpage/pagetest"
)

// TestGuard: no page gets through, programs do, and so do those for whom the server is the proxy.
func TestGuard(t *testing.T) {
	server := httptest.NewServer(webpage.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "asked for "+r.Host)
	})))
	defer server.Close()
	pagetest.Refused(t, server.URL+"/_all/_close")
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxied := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at)}}
	for ask, want := range map[string]struct {
		client *http.Client
		host   string
	}{
		server.URL: {http.DefaultClient, at.Host},
		strings.Replace(server.URL, "127.0.0.1", "localhost", 1): {http.DefaultClient, "localhost:" + at.Port()},
		"http://storage.example/":                                {proxied, "storage.example"},
	} {
		resp, err := want.client.Get(ask)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || string(text) != "asked for "+want.host {
			t.Errorf("%s: %s %q", ask, resp.Status, text)
		}
	}
}
