package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// TestCrowdsAreGreedy: greedy clients of each kind ask in their turn, again and again,
// for what they are named after.
func TestCrowdsAreGreedy(t *testing.T) {
	for kind, want := range map[string]struct {
		request string
		scopes  int
	}{
		greedyReaders:   {"GET /v1/kv/key-000000000000", 1},
		greedyBatches:   {"POST /v1/batch", 1},
		greedyScopes:    {"POST /v1/batch", greedyConns},
		greedySnapshots: {"GET /v1/snapshot", 1},
		greedyBody:      {"PUT /v1/kv/key-000000000000", 1},
		greedyBodies4:   {"PUT /v1/kv/key-000000000000", 1},
		greedyBodies16:  {"PUT /v1/kv/key-000000000000", 1},
		greedyHeaders:   {"PUT /v1/kv/key-000000000000", 1},
		greedyPipelines: {"PUT /v1/kv/key-", 1},
		greedyScrapes:   {"GET /metrics", 1},
	} {
		t.Run(kind, func(t *testing.T) {
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
			idle, err := b.noop(roleNoop) // whose processor time is that of a server at rest
			if err != nil {
				t.Fatal(err)
			}
			c, err := b.crowd(kind, &server{Process: idle.Process, addr: srv.Listener.Addr().String()})
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
	s, err := b.filledStorage(fewKeys)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.crowd(greedyBatches, s)
	if err != nil {
		t.Fatal(err)
	}
	h, err := dialHonest(s, put(fewKeys, 1), c)
	if err != nil {
		t.Fatal(err)
	}
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
	if state := field(c.status(), "State"); state != "T (stopped)" {
		t.Errorf("after the turn the crowd is %s", state)
	}
}
