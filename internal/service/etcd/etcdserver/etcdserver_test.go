package etcdserver_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

func TestMain(m *testing.M) {
	code := m.Run()
	// etcd leaves connections between members open, until their timeouts of 5 s.
	var left error
	for deadline := time.Now().Add(2 * time.Minute); code == 0 && time.Now().Before(deadline); {
		if left = goleak.Find(); left == nil {
			break
		}
	}
	if left != nil {
		fmt.Fprintln(os.Stderr, left)
		code = 1
	}
	os.Exit(code)
}

func start(t *testing.T, c etcdserver.Config) *etcdserver.Server {
	t.Helper()
	s, err := etcdserver.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func connect(t *testing.T, s *etcdserver.Server) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestServes(t *testing.T) {
	s := start(t, etcdserver.Config{Dir: t.TempDir()})
	if strings.HasSuffix(s.Endpoint(), ":0") {
		t.Errorf("Endpoint() = %s, want the real port", s.Endpoint())
	}
	c := connect(t, s)
	if _, err := c.Put(t.Context(), "key", "value"); err != nil {
		t.Fatal(err)
	}
	lease, err := c.Grant(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if lease.TTL != 1 {
		t.Errorf("a lease of 1 s is granted with %d s", lease.TTL)
	}
}

func TestCloseIsQuickWithClientsConnected(t *testing.T) {
	s := start(t, etcdserver.Config{Dir: t.TempDir()})
	c := connect(t, s)
	lease, err := c.Grant(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	alive, err := c.KeepAlive(t.Context(), lease.ID)
	if err != nil {
		t.Fatal(err)
	}
	<-alive
	watch := c.Watch(t.Context(), "key", clientv3.WithCreatedNotify())
	<-watch

	began := time.Now()
	s.Close()
	if d := time.Since(began); d > 4*time.Second {
		t.Errorf("Close took %v: it waited for the clients to leave, which etcd does for 5s", d)
	}
	if err, ok := <-s.Err(); ok {
		t.Errorf("Err received %v, want it closed", err)
	}
	s.Close()
}

func TestRestartKeepsDataRevisionAndAddress(t *testing.T) {
	dir := t.TempDir()
	first := start(t, etcdserver.Config{Dir: dir})
	put, err := connect(t, first).Put(t.Context(), "key", "value")
	if err != nil {
		t.Fatal(err)
	}
	first.Close()

	second := start(t, etcdserver.Config{Dir: dir, ClientAddr: first.Endpoint()})
	if second.Endpoint() != first.Endpoint() {
		t.Errorf("Endpoint() = %s after the restart, want %s", second.Endpoint(), first.Endpoint())
	}
	get, err := connect(t, second).Get(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	if get.Count != 1 || get.Kvs[0].ModRevision != put.Header.Revision {
		t.Errorf("after the restart: %v, want the key at revision %d", get.Kvs, put.Header.Revision)
	}
}

func TestStartErrorsSayWhere(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	used := t.TempDir()
	start(t, etcdserver.Config{Dir: used})

	for name, test := range map[string]struct {
		config etcdserver.Config
		want   []string
	}{
		"client address in use": {etcdserver.Config{Dir: t.TempDir(), ClientAddr: addr}, []string{addr, "address already in use"}},
		"peer address in use":   {etcdserver.Config{Dir: t.TempDir(), PeerAddr: addr}, []string{addr, "address already in use"}},
		"directory in use":      {etcdserver.Config{Dir: used}, []string{used, "already locked"}},
		"no directory":          {etcdserver.Config{}, []string{"no data directory"}},
		"no port":               {etcdserver.Config{Dir: t.TempDir(), ClientAddr: "localhost"}, []string{"localhost"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := etcdserver.Start(test.config)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestLogs(t *testing.T) {
	var logs bytes.Buffer
	start(t, etcdserver.Config{Dir: t.TempDir(), Logs: &logs}).Close()
	// Were a normal Close silent, logs could be on by default.
	if !strings.Contains(logs.String(), "use of closed network connection") {
		t.Errorf("a normal Close logs no error any more:\n%s", logs.String())
	}
}
