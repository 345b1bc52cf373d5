package kvhttp_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
)

// callFrom is a request that comes from an address.
func callFrom(h http.Handler, addr, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = addr
	r.Header.Set("Fencing-Token", "1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestRate: each client may come so often, and one that comes too often is no
// burden to others. Clocks are those of the test.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := kvhttp.NewMetrics(), kv.NewMemory(kv.Options{})
		h := kvhttp.NewHandler(e, kvhttp.Options{Limits: kvhttp.Limits{Rate: 3}, Metrics: m})
		admitted := func(addr string, n int) (ok int) {
			t.Helper()
			for range n {
				w := callFrom(h, addr, "PUT", "/v1/kv/a", "x")
				if w.Code == 204 {
					ok++
					continue
				}
				wantLimit(t, w.Code, w.Header(), w.Body.Bytes(), 429, kv.LimitRate, 3)
			}
			return ok
		}
		for _, tt := range []struct {
			addr string
			want int
		}{
			{"192.0.2.1:1", 3},
			{"192.0.2.1:2", 0}, // another port is no other client
			{"192.0.2.2:1", 3},
			{"[::ffff:192.0.2.2]:1", 0}, // the same, by IPv6
			{"[2001:db8:0:1::1]:1", 3},
			{"[2001:db8:0:1:ffff::2]:1", 0}, // the same network of 64 bits
			{"[2001:db8:0:2::1]:1", 3},
			{"[fe80::1%eth0]:1", 3},
		} {
			if got := admitted(tt.addr, 5); got != tt.want {
				t.Errorf("%s: %d of 5 requests were admitted, want %d", tt.addr, got, tt.want)
			}
		}
		wantContrib(t, callFrom(h, "192.0.2.1:1", "POST", "/", `{"op":"write","key":"b","val":"x","version":1}`), 429)
		if _, err := e.Read(t.Context(), kv.Request{}, "b"); err == nil {
			t.Error("a request that was refused was done")
		}
		if n := limited(t, m, kv.LimitRate); n != 8*5-5*3+1 {
			t.Errorf("the metric counts %d", n)
		}
		if w := callFrom(h, "192.0.2.1:1", "GET", "/healthz", ""); w.Code != 200 {
			t.Errorf("/healthz: %d", w.Code) // the orchestrator must not take a busy storage for a dead one
		}
		time.Sleep(time.Second / 3) // of the test's clock
		if got := admitted("192.0.2.1:1", 5); got != 1 {
			t.Errorf("a third of a second later %d requests were admitted, want 1", got)
		}
		time.Sleep(time.Hour)
		if got := admitted("192.0.2.1:1", 5); got != 3 {
			t.Errorf("an hour later %d requests were admitted, want 3", got)
		}
	})
}

// TestRateOfNames: who has shown a name counts by it, from wherever it comes, and
// who tries to guess a bearer token counts by its address.
func TestRateOfNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret, hash := access.Generate()
		file := filepath.Join(t.TempDir(), "tokens.yaml")
		text := "tokens:\n  - name: 192.0.2.7\n    sha256: " + hash + "\n    rights: [write]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		policy, err := access.Load(file, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Limits: kvhttp.Limits{Rate: 3}, Access: policy})
		for _, tt := range []struct {
			addr, secret string
			want         int // status
		}{
			{"192.0.2.1:1", secret, 204},
			{"192.0.2.2:1", secret, 204},
			{"192.0.2.3:1", secret, 204},
			{"192.0.2.4:1", secret, 429},
			{"192.0.2.7:1", "guess1", 401}, // an address is no name
			{"192.0.2.7:1", "guess2", 401},
			{"192.0.2.7:1", "guess3", 401},
			{"192.0.2.7:1", "guess4", 429},
			{"192.0.2.8:1", "guess5", 401},
		} {
			r := httptest.NewRequest("PUT", "/v1/kv/a", nil)
			r.RemoteAddr = tt.addr
			r.Header.Set("Authorization", "Bearer "+tt.secret)
			r.Header.Set("Fencing-Token", "1")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != tt.want {
				t.Errorf("%+v: %d %s", tt, w.Code, w.Body)
			}
		}
	})
}

// TestRateIsNotForgotten: any number of strangers take up no more than so much
// memory, and do not give one that keeps coming its rate anew.
func TestRateIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{Limits: kvhttp.Limits{Rate: 2}})
		ok := 0
		stranger := httptest.NewRequest("GET", "/v1/marks/a", nil) // one for all: to make it takes longer than to answer it
		for i := range 120_000 {
			stranger.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255)
			h.ServeHTTP(httptest.NewRecorder(), stranger)
			if i%10_000 == 0 {
				if w := callFrom(h, "192.0.2.1:1", "GET", "/v1/marks/a", ""); w.Code == 200 {
					ok++
				}
			}
		}
		if ok != 2 {
			t.Errorf("%d requests were admitted, want 2", ok)
		}
	})
}
