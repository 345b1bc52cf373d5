package clientcmd_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/clientcmd"
	"github.com/fencelab/fencelab/internal/etcdserver"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// patience bounds every wait for an event; it decides nothing else.
const patience = time.Minute

// The test binary is the client, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch role := os.Args[1]; role {
		case "client", "ticking":
			os.Args = append(os.Args[:1], os.Args[2:]...)
			if role == "ticking" {
				go tick()
			}
			cli.Main(clientcmd.Command())
		}
	}
	// Children inherit that a hangup is ignored, as it is under nohup, and some are
	// to die of one.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// world is an etcd and a storage.
type world struct {
	server  *etcdserver.Server
	way     string // to the server, for clients
	etcd    *clientv3.Client
	locks   *etcdlock.Backend
	storage *httptest.Server
	kv      *kvhttp.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := new(world)
	var err error
	if w.server, err = etcdserver.Start(etcdserver.Config{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Close)
	w.way = w.server.Endpoint()
	w.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{w.server.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.etcd.Close() })
	if w.locks, err = etcdlock.New(w.etcd, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	w.storage = httptest.NewServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}))
	t.Cleanup(w.storage.Close)
	w.kv = kvhttp.NewClient(w.storage.URL, kvhttp.ClientOptions{})
	t.Cleanup(w.kv.Close)
	return w
}

// args are those of a client in this world.
func (w *world) args(args ...string) []string {
	return append([]string{"--endpoints", w.way, "--storage", w.storage.URL}, args...)
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// take takes the lock as another client.
func (w *world) take(t *testing.T, scope string) lock.Tenure {
	t.Helper()
	tenure, err := w.locks.Lock(within(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}

// wantFree takes the lock without waiting.
func (w *world) wantFree(t *testing.T, scope string) {
	t.Helper()
	tenure, err := w.locks.TryLock(within(t), scope)
	if err != nil {
		t.Errorf("afterwards: %v, want the lock free", err)
		return
	}
	if err := tenure.Unlock(within(t)); err != nil {
		t.Error(err)
	}
}

// queue returns the keys of scope, the holder's first, once there are n.
func (w *world) queue(t *testing.T, scope string, n int) []string {
	t.Helper()
	ctx := within(t)
	for {
		got, err := w.etcd.Get(ctx, etcdlock.Prefix(scope), clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		if err != nil {
			t.Fatalf("waiting for %d keys: %v", n, err)
		}
		if len(got.Kvs) == n {
			var keys []string
			for _, kv := range got.Kvs {
				keys = append(keys, string(kv.Key))
			}
			return keys
		}
		watch, stop := context.WithCancel(ctx)
		<-w.etcd.Watch(watch, etcdlock.Prefix(scope), clientv3.WithPrefix(), clientv3.WithRev(got.Header.Revision+1))
		stop()
	}
}

// revoke ends the tenure whose key is owner.
func (w *world) revoke(t *testing.T, owner string) {
	t.Helper()
	if _, err := w.etcd.Revoke(within(t), leaseOf(t, owner)); err != nil {
		t.Fatal(err)
	}
}

func leaseOf(t *testing.T, owner string) clientv3.LeaseID {
	t.Helper()
	key, _, _ := strings.Cut(owner, "@")           // and a revision, in the agent's reports
	name, _, _ := strings.Cut(path.Base(key), "-") // and a number, in keys of etcdlock
	id, err := strconv.ParseInt(name, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return clientv3.LeaseID(id)
}

func (w *world) wantMark(t *testing.T, scope string, want fence.Token) {
	t.Helper()
	if m, err := w.kv.Mark(t.Context(), scope); err != nil || m.Token != want {
		t.Errorf("the mark of %s is %v, %v, want %v", scope, m.Token, err, want)
	}
}

func (w *world) wantValue(t *testing.T, key, want string) {
	t.Helper()
	if item, err := w.kv.Read(t.Context(), kv.Request{}, key); err != nil || item.Value != want {
		t.Errorf("%s is %q, %v, want %q", key, item.Value, err, want)
	}
}

// process prepares a client process that a failed test does not leave behind.
func process(t *testing.T, role string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, os.Args[0], append([]string{role}, args...)...)
}

// status runs a client process to its end.
func status(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := process(t, "client", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// deadAddr is an address where nothing listens.
func deadAddr(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dead := deadAddr(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var ended sync.WaitGroup // all at once: each takes 5 s
	for _, c := range []struct {
		name, etcd, storage string
		want                []string
	}{
		{"etcd dead", dead, w.storage.URL, []string{"etcd at " + dead, "connection refused", "go run ./cmd/gcsim etcd", "--endpoints"}},
		{"etcd silent", silent.Addr().String(), w.storage.URL, []string{"etcd at " + silent.Addr().String(), "--endpoints"}},
		{"storage dead", w.server.Endpoint(), "http://" + dead, []string{"storage at http://" + dead, "connection refused", "go run ./cmd/storage", "--storage"}},
		{"storage silent", w.server.Endpoint(), "http://" + silent.Addr().String(), []string{"storage at http://" + silent.Addr().String()}},
		{"no storage", w.server.Endpoint(), w.storage.URL + "/elsewhere", []string{"404"}},
		{"both dead", dead, "http://" + dead, []string{"etcd at " + dead, "storage at http://" + dead}},
	} {
		for _, command := range []string{"1", "agent", "work"} {
			ended.Go(func() {
				began := time.Now()
				code, stdout, stderr := status(t, command, "--endpoints", c.etcd, "--storage", c.storage)
				if took := time.Since(began); took > 6*time.Second {
					t.Errorf("%s, %s: it took %v, want 5s", command, c.name, took)
				}
				if code != 1 || stdout != "" {
					t.Errorf("%s, %s: status %d, standard output %q, want 1 and nothing", command, c.name, code, stdout)
				}
				for _, want := range c.want {
					if !strings.Contains(stderr, want) {
						t.Errorf("%s, %s: it says\n%s\nwant %q in it", command, c.name, stderr, want)
					}
				}
				if strings.Contains(stderr, `"level"`) {
					t.Errorf("%s, %s: etcd's logger speaks:\n%s", command, c.name, stderr)
				}
			})
		}
	}
	ended.Wait()
}

// TestWaitsForEtcd starts the server after the client.
func TestWaitsForEtcd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir, addr := t.TempDir(), deadAddr(t)
	cmd := process(t, "client", "2", "--endpoints", addr, "--storage", w.storage.URL, "--connect-timeout", "20s")
	var errs bytes.Buffer
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stderr = pipe
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	first := make([]byte, 1)
	if _, err := r.Read(first); err != nil { // it starts
		t.Fatal(err)
	}
	s, err := etcdserver.Start(etcdserver.Config{Dir: dir, ClientAddr: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _ = errs.ReadFrom(r)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, errs.String())
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"3"}, 1, "mode should be 1 or 2 (given value is 3)"},
		{nil, 2, "agent, exec and work"},
		{[]string{"agnet"}, 2, `unknown command "agnet"`},
		{[]string{"1", "2"}, 2, "want 1 or 2"},
		{[]string{"1", "--ttl", "1500ms"}, 2, "whole seconds"},
		{[]string{"agent", "--ttl", "0s"}, 2, "1s or more"},
		{[]string{"agent", "--token", "random"}, 2, "want revision, header, lease, max"},
		{[]string{"agent", "--look", "away"}, 2, "want nothing, session, is-owner, first"},
		{[]string{"agent", "--timeout", "0s"}, 2, "--timeout is 0s"},
		{[]string{"agent", "--lock-delay", "-1s"}, 2, "--lock-delay is -1s"},
		{[]string{"agent", "--send-storage", "127.0.0.1:8080"}, 2, "--send-storage"},
		{[]string{"agent", "--storage", "127.0.0.1:8080"}, 2, "want a URL like http://"},
		{[]string{"agent", "lock"}, 2, "unknown command"},
		{[]string{"work", "--rounds", "0"}, 2, "1 or more rounds"},
		{[]string{"exec", "--", "true"}, 2, "--lock NAME"},
		{[]string{"exec", "--lock", "/lock"}, 2, "which command"},
	} {
		t.Run(fmt.Sprint(c.args), func(t *testing.T) {
			t.Parallel()
			code, _, stderr := status(t, c.args...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("status %d and\n%s\nwant %d and %q", code, stderr, c.code, c.want)
			}
		})
	}
}
