package java_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/original"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/outside/stage"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

// silent passes calls on to an etcd. A lock is taken there, and neither its answer nor any of a renewal comes back.
func silent(server string) *httptest.Server {
	plain := new(http.Protocols)
	plain.SetUnencryptedHTTP2(true)
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	pass.Transport, pass.FlushInterval = &http.Transport{Protocols: plain}, -1 // messages of a stream come one by one
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v3lockpb.Lock/Lock":
			pass.ServeHTTP(httptest.NewRecorder(), r)
			<-r.Context().Done()
		case "/etcdserverpb.Lease/LeaseKeepAlive":
			<-r.Context().Done()
		default:
			pass.ServeHTTP(w, r)
		}
	}))
	s.Config.Protocols = plain
	s.Start()
	return s
}

// TestLeaseOverBeforeGrant: an attempt of jetcd that is the first in the queue, and whose lease is over before the answer,
// fails. jetcd's own attempt is then never done.
func TestLeaseOverBeforeGrant(t *testing.T) {
	javatest.Need(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := etcd.Service()
	world, err := stage.Open(ctx, os.Args[0], s, setting.Defaults(s.World), nil, []string{"/lock"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	endpoints, err := world.Servers.Endpoints(ctx, setting.Defaults(s.Client))
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Concat(setting.Client, s.Client)
	settings, err := setting.Complete(known, setting.Values{service.By: "java/jetcd", setting.TTL: "2s"})
	if err != nil {
		t.Fatal(err)
	}
	way := silent(endpoints[0])
	language, of := original.Of(service.PeerOf(s, scenario.Client{Values: settings}))
	c, err := peer.Start(language.Program(of, t.TempDir(), "jetcd", settings), service.Options{Endpoints: []string{way.Listener.Addr().String()}, Settings: settings}, known)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	t.Cleanup(way.CloseClientConnections) // else Close would wait for what has no answer
	if err := c.Reach(ctx); err != nil {
		t.Fatal(err)
	}
	said, err := c.Ask(ctx, "lock", url.Values{"tenure": {"1"}, "lock": {"/lock"}, "within": {"0"}}, time.Minute)
	if err != nil || !strings.Contains(said.Get("text"), "its lease has ended before the grant") {
		t.Errorf("the client says %v, %v", said, err)
	}
}
