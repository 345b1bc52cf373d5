package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// TestCrowdsAreGreedy: greedy clients of each kind ask in their turn, again and again,
// for what they are named after.
func TestCrowdsAreGreedy(t *testing.T) {
	need.Time(t, "to have each kind of greedy clients")
	for row, want := range []struct {
		request string
		scopes  int
	}{
		{"GET /v1/kv/key-000000000000", 1},
		{"GET /v1/kv/key-000000000000", 1},
		{"PUT /v1/kv/key-000000000000", 1},
		{"PUT /v1/kv/key-000000000000", 1},
		{"PUT /v1/kv/key-000000000000", 1},
		{"PUT /v1/kv/key-000000000000", 1},
		{"PUT /v1/kv/key-", 1},
		{"GET /metrics", 1},
		{"POST /v1/batch", 1},
		{"POST /v1/batch", greedyConns},
		{"GET /v1/snapshot", 1},
	} {
		t.Run(greeds(smoke.many)[row].name, func(t *testing.T) {
			b := startBench(t)
			asked := make(chan *http.Request)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case asked <- r:
				case <-t.Context().Done():
				}
				if r.Method != http.MethodGet {
					_, _ = io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusNoContent)
				}
			}))
			t.Cleanup(srv.Close)
			idle := b.start(roleNoop) // whose processor time is that of a server at rest
			c, err := b.crowd(row, &server{Process: idle.Process, addr: srv.Listener.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Resume(); err != nil {
				t.Fatal(err)
			}
			const few, many = 2 * greedyConns, 100 * greedyConns // many: each connection has had its turn
			scopes := make(map[string]bool)
			for n := 0; n < few || n < many && len(scopes) < want.scopes; n++ {
				r := next(t, asked)
				if got := r.Method + " " + r.URL.Path; !strings.HasPrefix(got, want.request) {
					t.Fatalf("got %s, want %s", got, want.request)
				}
				scopes[r.Header.Get(fencehttp.HeaderScope)] = true
			}
			if len(scopes) != want.scopes {
				t.Errorf("the requests are of %d scopes, want %d", len(scopes), want.scopes)
			}
			if err := c.rest(); err != nil {
				t.Error(err)
			}
		})
	}
}

func next(t *testing.T, asked <-chan *http.Request) *http.Request {
	t.Helper()
	select {
	case r := <-asked:
		return r
	case <-time.After(startTimeout):
		t.Fatalf("nobody asked for anything in %v", startTimeout)
		return nil
	}
}

// TestHonestTurns: a turn beside a crowd has a value in each list, and the crowd stands
// still afterwards.
func TestHonestTurns(t *testing.T) {
	b := startBench(t)
	s := b.filledStorage(fewKeys)
	row := slices.IndexFunc(greeds(b.many), func(g greed) bool { return strings.HasSuffix(g.name, ", one scope") })
	h := &honest{load: must(dial(s.addr, 1, put(fewKeys, 1))), server: s, crowd: must(b.crowd(row, s))}
	defer h.close()
	ops, _, err := h.turn(smoke.turn)
	if err != nil || ops == 0 {
		t.Fatalf("%d writes, %v", ops, err)
	}
	for name, list := range map[string][]float64{"longest": h.longest, "woken": h.woken, "memory": h.memory} {
		if len(list) != 1 || list[0] <= 0 {
			t.Errorf("%s: got %v, want one value above 0", name, list)
		}
	}
	if state := field(h.crowd.status(), "State"); state != "T (stopped)" {
		t.Errorf("after the turn the crowd is %s", state)
	}
}
