package fencehttp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// TestHTTP2: claims and refusals are headers, and go by any version of HTTP. Requests that share
// a connection keep their claims apart.
func TestHTTP2(t *testing.T) {
	var marks fence.Register
	var mu sync.Mutex
	bodies := make(map[string]int)
	server := httptest.NewUnstartedServer(fencehttp.Middleware(&marks, fencehttp.Options{
		Scope: func(r *http.Request) string { return r.URL.Path },
	})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ProtoMajor != 2 {
			t.Errorf("a request by %s: %v", r.Proto, err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies[r.URL.Path+" "+string(body)]++
	})))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := server.Client()
	client.Transport = &fencehttp.Transport{Base: client.Transport}
	put := func(c fence.Claim, body string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+c.Scope, strings.NewReader(body))
		if err != nil {
			return err
		}
		fencehttp.SetClaim(req.Header, c)
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	var group sync.WaitGroup
	for _, scope := range []string{"/a", "/b", "/c", "/d"} {
		group.Go(func() {
			for token := range fence.Token(20) {
				if err := put(fence.Claim{Scope: scope, Token: token + 1}, token.String()); err != nil {
					t.Error(err)
				}
			}
			var stale *fence.StaleError
			err := put(fence.Claim{Scope: scope, Token: 19}, "stale")
			if !errors.As(err, &stale) || stale.Token != 19 || stale.Mark != 20 || fence.OutcomeOf(err) != fence.Definite {
				t.Errorf("token 19 after 20: %v", err)
			}
		})
	}
	group.Wait()
	if err := put(fence.Claim{Scope: "/a", Token: 20}, ""); err != nil {
		t.Error(err)
	}
	if len(bodies) != 4*20+1 || bodies["/a stale"] != 0 {
		t.Errorf("the handler has had %v", bodies)
	}
}
