package etcdproc_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// The test binary is its own members and janitor.
func TestMain(m *testing.M) {
	proctest.Play(lab.Roles(all.List)...)
	goleak.VerifyTestMain(proctest.NoFiles{M: m})
}

const deadline = 2 * time.Minute

type world struct {
	*etcdproc.Cluster
	t      *testing.T
	ctx    context.Context
	client *clientv3.Client
}

// start starts a cluster of n members.
func start(t *testing.T, n int) *world {
	t.Helper()
	return startBy(t, n, etcdproc.Start)
}

func startBy(t *testing.T, n int, start func(context.Context, *proc.Group, int, etcdserver.Config) (*etcdproc.Cluster, error)) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	cluster, err := start(ctx, proctest.Group(t), n, etcdserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return &world{cluster, t, ctx, client}
}

// put tries until it succeeds: while a leader is elected, or where a member stands
// still, requests fail.
func (w *world) put(key string) {
	w.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		_, err := w.client.Put(ctx, key, "v")
		cancel()
		if err == nil {
			return
		}
		if w.ctx.Err() != nil {
			w.t.Fatalf("put %s: %v", key, err)
		}
	}
}

// at is a client of one member.
func (w *world) at(m *etcdproc.Member) *clientv3.Client {
	w.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { client.Close() })
	return client
}

// has asks one member. It answers when it has caught up.
func (w *world) has(m *etcdproc.Member, key string) {
	w.t.Helper()
	if got, err := w.at(m).Get(w.ctx, key); err != nil || got.Count != 1 {
		w.t.Errorf("%s has %v at %q, %v", m.Name, got, key, err)
	}
}

func TestAllKilled(t *testing.T) {
	t.Parallel()
	w := start(t, 3)
	w.put("before")
	for _, m := range w.Members {
		if err := m.Process().Kill(); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for _, m := range w.Members {
		wg.Go(func() {
			if err := m.Restart(w.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, m := range w.Members {
		w.has(m, "before")
	}
}

// TestTTL: a second is a second, so that a world may have any number of members.
func TestTTL(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		w := start(t, n)
		if lease, err := w.client.Grant(w.ctx, 1); err != nil || lease.TTL != 1 {
			t.Errorf("%d members grant %+v, %v, want a lease of 1 s", n, lease, err)
		}
	}
}

// TestStartFailsWithWhatItSaid: a member that cannot start says why.
func TestStartFailsWithWhatItSaid(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := etcdproc.Start(ctx, proctest.Group(t), 3, etcdserver.Config{Dir: file}); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v, want what the process said", err)
	}
}
