package watch

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/webpage/pagetest"
)

// TestGate: what may change something at the storage is held, and all else passes.
func TestGate(t *testing.T) {
	t.Parallel()
	serve := func(name string) *url.URL {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s: %s %s %s token %s id %s", name, r.Method, r.URL, b, r.Header.Get("X-Token"), r.Header.Get("X-Request-Id"))
		}))
		t.Cleanup(s.Close)
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	storage, other := serve("storage"), serve("other")
	storage.Path = "/base"
	g, err := openGate(storage)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	gate := &url.URL{Scheme: "http", Host: g.addr}
	pagetest.Refused(t, gate.String()+"/a")
	proxied := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(gate), DisableKeepAlives: true}}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, tt := range map[string]struct {
		by           *http.Client
		method, at   string
		held         bool
		want         string
		body, header string
	}{
		"a read":                 {direct, "GET", gate.String() + "/a%2Fb?c=d", false, "storage: GET /base/a%2Fb?c=d", "", ""},
		"a change":               {direct, "PUT", gate.String() + "/a%2Fb?c=d", true, "storage: PUT /base/a%2Fb?c=d new token 7 id 1", "new", "7"},
		"a change by the proxy":  {proxied, "POST", "http://" + storage.Host + "/a", true, "storage: POST /a new", "new", ""},
		"a change of no concern": {proxied, "POST", other.String() + "/a", false, "other: POST /a new", "new", ""},
		"too much":               {direct, "PUT", gate.String() + "/a", false, "at most", strings.Repeat("x", maxBody+1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan string, 1)
			go func() {
				r, _ := http.NewRequest(tt.method, tt.at, strings.NewReader(tt.body))
				r.Header.Set("X-Token", tt.header)
				r.Header.Set("X-Request-Id", "1")
				resp, err := tt.by.Do(r)
				if err != nil {
					said <- err.Error()
					return
				}
				defer resp.Body.Close()
				b, _ := io.ReadAll(resp.Body)
				said <- string(b)
			}()
			if tt.held {
				q := <-g.requests
				again := g.again(t.Context(), q, "7", "9")
				if !again.done() || q.method != tt.method || string(q.body) != tt.body {
					t.Errorf("%s %s is held, and made again: %v", q.method, q.body, again)
				}
				close(q.pass)
				if got := <-q.answer; !got.done() {
					t.Errorf("the storage answers %v", got)
				}
			}
			select {
			case got := <-said:
				if !strings.HasPrefix(got, tt.want) && !(name == "too much" && strings.Contains(got, tt.want)) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			case <-time.After(time.Minute):
				t.Fatal("there is no answer")
			}
		})
	}
	if _, err := proxied.Get("https://" + storage.Host); err == nil || !strings.Contains(err.Error(), "Not Implemented") {
		t.Errorf("a tunnel: %v", err)
	}
}

// TestLateRequestArrives: what a program has sent arrives, also if the program has ended.
func TestLateRequestArrives(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := openGate(to)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	conn, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "PUT /a HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\n\r\nnew", g.addr)
	q := <-g.requests
	conn.Close()
	<-q.gone // the gate knows
	close(q.pass)
	if got := <-q.answer; !got.done() {
		t.Errorf("the storage answers %v", got)
	}
}

// TestAgain: the other client shows its own token where the program shows its, and nowhere else.
func TestAgain(t *testing.T) {
	t.Parallel()
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer s.Close()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := openGate(to)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	q := &request{method: "PUT", path: s.URL, header: http.Header{
		"Fencing-Token": {"7"}, "X-Version": {"7"}, "X-Other": {"17"}, "X-Request-Id": {"a"},
	}}
	if a := g.again(t.Context(), q, "7", "9"); !a.done() {
		t.Fatal(a)
	}
	for name, want := range map[string]string{"Fencing-Token": "9", "X-Version": "9", "X-Other": "17", "X-Request-Id": ""} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
	if q.header.Get("Fencing-Token") != "7" {
		t.Error("the program's own request is another one")
	}
}
