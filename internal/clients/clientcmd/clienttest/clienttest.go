// Package clienttest has a lock service and a storage for tests of clients.
package clienttest

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// Patience bounds every wait for an event; it decides nothing else.
const Patience = time.Minute

type World struct {
	Server  *etcdserver.Server
	Way     string // to the server, for clients
	Etcd    *clientv3.Client
	Locks   *etcdlock.Backend
	Storage *httptest.Server
	KV      *kvhttp.Client
}

func New(t *testing.T) *World {
	t.Helper()
	w := new(World)
	var err error
	if w.Server, err = etcdserver.Start(etcdserver.Config{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Server.Close)
	w.Way = w.Server.Endpoint()
	w.Etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{w.Server.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Etcd.Close() })
	if w.Locks, err = etcdlock.New(w.Etcd, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	w.Storage = httptest.NewServer(kvhttp.NewHandler(kv.NewMemory(kv.Options{}), kvhttp.Options{}))
	t.Cleanup(w.Storage.Close)
	w.KV = kvhttp.NewClient(w.Storage.URL, kvhttp.ClientOptions{})
	t.Cleanup(w.KV.Close)
	return w
}

func (w *World) Args(args ...string) []string {
	return append([]string{"--endpoints", w.Way, "--storage", w.Storage.URL}, args...)
}

func Within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

func (w *World) Take(t *testing.T, scope string) lock.Tenure {
	t.Helper()
	tenure, err := w.Locks.Lock(Within(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}

func (w *World) WantFree(t *testing.T, scope string) {
	t.Helper()
	tenure, err := w.Locks.TryLock(Within(t), scope)
	if err != nil {
		t.Errorf("afterwards: %v, want the lock free", err)
		return
	}
	if err := tenure.Unlock(Within(t)); err != nil {
		t.Error(err)
	}
}

// queue returns the keys of scope, the holder's first, once there are n.
func (w *World) Queue(t *testing.T, scope string, n int) []string {
	t.Helper()
	ctx := Within(t)
	for {
		got, err := w.Etcd.Get(ctx, etcdlock.Prefix(scope), clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
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
		<-w.Etcd.Watch(watch, etcdlock.Prefix(scope), clientv3.WithPrefix(), clientv3.WithRev(got.Header.Revision+1))
		stop()
	}
}

func (w *World) Revoke(t *testing.T, owner string) {
	t.Helper()
	if _, err := w.Etcd.Revoke(Within(t), LeaseOf(t, owner)); err != nil {
		t.Fatal(err)
	}
}

func LeaseOf(t *testing.T, owner string) clientv3.LeaseID {
	t.Helper()
	key, _, _ := strings.Cut(owner, "@")           // and a revision, in the agent's reports
	name, _, _ := strings.Cut(path.Base(key), "-") // and a number, in keys of etcdlock
	id, err := strconv.ParseInt(name, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return clientv3.LeaseID(id)
}

func (w *World) WantValue(t *testing.T, key, want string) {
	t.Helper()
	if item, err := w.KV.Read(t.Context(), kv.Request{}, key); err != nil || item.Value != want {
		t.Errorf("%s is %q, %v, want %q", key, item.Value, err, want)
	}
}

// process prepares a client process that a failed test does not leave behind.
func Process(t *testing.T, role string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 3*Patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, os.Args[0], append([]string{role}, args...)...)
}
