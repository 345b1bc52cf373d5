package s3_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/s3"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc"
	"github.com/fencelab/fencelab/pkg/fence"
)

// lossy passes requests on to a server, and loses the answer to the next change when it is told to.
type lossy struct {
	*httptest.Server
	loses atomic.Bool
}

func newLossy(t *testing.T, server string) *lossy {
	t.Helper()
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server}) // the Host stays, which is signed
	l := new(lossy)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || !l.loses.CompareAndSwap(true, false) {
			pass.ServeHTTP(w, r)
			return
		}
		pass.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(l.Close)
	return l
}

// TestLostAnswer: a client that hears no answer to its PUT finds out that it has the lock, and does not take its own object
// for another one's. After an unlock without an answer the lock is free.
func TestLostAnswer(t *testing.T) {
	needs(t)
	server, err := s3proc.Start(t.Context(), proctest.Group(t))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Process().ReadLines(server.Process().Stdout, func([]byte) error { return nil }) }()
	net := newLossy(t, server.Addr)
	by, _ := setting.Find(s3.Service().Client, service.By)
	for _, recipe := range by.Of {
		settings := setting.Defaults(slices.Concat(setting.Client, s3.Service().Client))
		settings[service.By], settings[setting.TTL] = recipe, "1m"
		c, err := s3.Service().Dial(service.Options{Endpoints: []string{strings.TrimPrefix(net.URL, "http://")}, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		for range 2 {
			net.loses.Store(true)
			held, err := c.TryLock(t.Context(), "/"+recipe, "")
			if err != nil || net.loses.Load() {
				t.Fatalf("%s: with the answer lost (%v) it gets %v", recipe, !net.loses.Load(), err)
			}
			net.loses.Store(true)
			if err := held.Unlock(t.Context()); fence.OutcomeOf(err) != fence.Unknown {
				t.Errorf("%s: an unlock without an answer says %v", recipe, err)
			}
		}
	}
}
