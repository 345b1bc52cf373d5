package gate

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/webpage/pagetest"
)

// open opens a gate before a storage at a URL.
func open(t *testing.T, to *url.URL) (*Gate, *Answers) {
	t.Helper()
	answers := new(Answers)
	g, err := OpenHTTP(to, answers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, answers
}

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestHTTP: what may change something at the storage is held, and all else passes.
func TestHTTP(t *testing.T) {
	t.Parallel()
	serve := func(name string) *url.URL {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s: %s %s %s token %s", name, r.Method, r.URL, b, r.Header.Get("X-Token"))
		}))
		t.Cleanup(s.Close)
		return parsed(t, s.URL)
	}
	storage, other := serve("storage"), serve("other")
	storage.Path = "/base"
	g, answers := open(t, storage)
	gate := &url.URL{Scheme: "http", Host: g.Addr}
	pagetest.Refused(t, gate.String()+"/a")
	proxied := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(gate), DisableKeepAlives: true}}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, tt := range map[string]struct {
		by         *http.Client
		method, at string
		held       string
		want       string
		body       string
	}{
		"a read":                 {direct, "GET", gate.String() + "/a%2Fb?c=d", "", "storage: GET /base/a%2Fb?c=d", ""},
		"a change":               {direct, "PUT", gate.String() + "/a%2Fb?c=d", "PUT " + storage.String() + "/a%2Fb?c=d", "storage: PUT /base/a%2Fb?c=d new token 7", "new"},
		"a change by the proxy":  {proxied, "POST", "http://" + storage.Host + "/a", "POST http://" + storage.Host + "/a", "storage: POST /a new", "new"},
		"a change of no concern": {proxied, "POST", other.String() + "/a", "", "other: POST /a new", "new"},
		"too much":               {direct, "PUT", gate.String() + "/a", "", "gcsim watch holds requests of at most", strings.Repeat("x", MaxHeld+1)},
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan string, 1)
			go func() {
				r, _ := http.NewRequest(tt.method, tt.at, strings.NewReader(tt.body))
				r.Header.Set("X-Token", "7")
				resp, err := tt.by.Do(r)
				if err != nil {
					said <- err.Error()
					return
				}
				defer resp.Body.Close()
				b, _ := io.ReadAll(resp.Body)
				said <- string(b)
			}()
			if tt.held != "" {
				q := <-g.Requests
				if q.What != tt.held {
					t.Errorf("%q is held, want %q", q.What, tt.held)
				}
				q.Pass()
				if got := <-q.Answer; got != "200 OK" {
					t.Errorf("the storage answers %v", got)
				}
				if done, err := answers.Changes(t.Context()); !slices.Equal(done, []string{q.What}) || err != nil {
					t.Errorf("changed: %q, error %v", done, err)
				}
			}
			select {
			case got := <-said:
				if !strings.HasPrefix(got, tt.want) {
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
	g, _ := open(t, parsed(t, s.URL))
	conn, err := net.Dial("tcp", g.Addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "PUT /a HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\n\r\nnew", g.Addr)
	q := <-g.Requests
	conn.Close()
	q.Pass()
	if got := <-q.Answer; got != "200 OK" {
		t.Errorf("the storage answers %v", got)
	}
}

// TestAnswers: a refusal changes nothing, and what is not known is said.
func TestAnswers(t *testing.T) {
	for status, unknown := range map[int]bool{http.StatusPreconditionFailed: false, http.StatusBadGateway: true, http.StatusFound: true} {
		var a Answers
		a.take("PUT a", status, nil)
		if done, err := a.Changes(t.Context()); len(done) > 0 || (err != nil) != unknown {
			t.Errorf("%d: changed %q, error %v", status, done, err)
		}
	}
}
