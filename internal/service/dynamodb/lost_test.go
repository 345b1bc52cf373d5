package dynamodb_test

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

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/dynamodb"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/pkg/fence"
)

// lossy passes requests on to a server, and loses the answer to the next change when it is told to.
type lossy struct {
	*httptest.Server
	loses atomic.Bool
}

func newLossy(t *testing.T, server string) *lossy {
	t.Helper()
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	l := new(lossy)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get(ddbproc.Target), "GetItem") || !l.loses.CompareAndSwap(true, false) {
			pass.ServeHTTP(w, r)
			return
		}
		pass.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(l.Close)
	return l
}

// TestLostAnswer: a client that hears no answer to its write finds out that it has the lock, and does not take its own item
// for another one's. After an unlock without an answer the lock is free.
func TestLostAnswer(t *testing.T) {
	needs(t)
	launched, err := dynamodb.Service().Launch(t.Context(), proctest.Group(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	net := newLossy(t, launched.Endpoints[0])
	by, _ := setting.Find(dynamodb.Service().Client, service.By)
	for _, recipe := range by.Of {
		if strings.HasPrefix(recipe, java.Prefix) {
			continue
		}
		settings := setting.Defaults(slices.Concat(setting.Client, dynamodb.Service().Client))
		settings[service.By], settings[setting.TTL] = recipe, "1m"
		c, err := dynamodb.Service().Dial(service.Options{Endpoints: []string{strings.TrimPrefix(net.URL, "http://")}, Settings: settings})
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
