package etcdserver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/etcdserver"
)

func startCluster(t *testing.T, n int) (*etcdserver.Cluster, *clientv3.Client) {
	t.Helper()
	cluster, err := etcdserver.StartCluster(n, etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := clientv3.New(clientv3.Config{Endpoints: cluster.Endpoints(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return cluster, client
}

// awaitPut puts until it succeeds: while a leader is elected, requests fail.
func awaitPut(t *testing.T, client *clientv3.Client, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := client.Put(try, key, "v")
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("put %s: %v", key, err)
		}
	}
}

// awaitLeader waits until one member leads, and no other thinks that it does.
func awaitLeader(t *testing.T, cluster *etcdserver.Cluster) *etcdserver.Member {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		leaders := 0
		for _, m := range cluster.Members {
			if m.IsLeader() {
				leaders++
			}
		}
		if m := cluster.Leader(); m != nil && leaders == 1 {
			return m
		}
		select {
		case <-deadline:
			t.Fatalf("%d members lead", leaders)
		case <-tick.C:
		}
	}
}

// local reads what one member has itself.
func local(t *testing.T, m *etcdserver.Member, key string) int64 {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := client.Get(ctx, key) // linearizable: the member has caught up
	if err != nil {
		t.Fatal(err)
	}
	return got.Count
}

func TestClusterOutlivesItsLeader(t *testing.T) {
	cluster, client := startCluster(t, 3)
	awaitPut(t, client, "before")
	old := awaitLeader(t, cluster)
	old.Stop()
	if old.IsLeader() {
		t.Error("a member that is stopped leads")
	}
	awaitPut(t, client, "while one is gone")
	if now := awaitLeader(t, cluster); now == old {
		t.Error("the leader did not change")
	}
	if err := old.Restart(); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"before", "while one is gone"} {
		if local(t, old, key) != 1 {
			t.Errorf("the member that was gone has no %q", key)
		}
	}
}

func TestClusterWithoutQuorum(t *testing.T) {
	cluster, client := startCluster(t, 3)
	awaitPut(t, client, "before")
	for _, m := range cluster.Members[1:] {
		m.Stop()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := client.Put(ctx, "without", "v"); err == nil {
		t.Error("one member of three took a write")
	}
	var wg sync.WaitGroup
	for _, m := range cluster.Members[1:] {
		wg.Go(func() {
			if err := m.Restart(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	awaitPut(t, client, "after")
	for i, m := range cluster.Members {
		if local(t, m, "before") != 1 || local(t, m, "after") != 1 {
			t.Errorf("member %d lost a write", i+1)
		}
	}
}

// TestOnFreePortsTriesAgain: as if another process had been faster.
func TestOnFreePortsTriesAgain(t *testing.T) {
	dir := t.TempDir()
	var tried [][]etcdserver.Config
	got, err := etcdserver.OnFreePorts(2, etcdserver.Config{Dir: dir, MaxTxnOps: 7}, func(configs []etcdserver.Config) (string, error) {
		tried = append(tried, configs)
		left := filepath.Join(configs[1].Dir, "left")
		if _, err := os.Stat(left); err == nil {
			t.Error("a directory is not empty")
		}
		if err := os.MkdirAll(left, 0o700); err != nil {
			return "", err
		}
		if len(tried) < 3 {
			return "", errors.Join(errors.New("first"), syscall.EADDRINUSE)
		}
		return "started", nil
	})
	if err != nil || got != "started" || len(tried) != 3 {
		t.Fatalf("got %q, %v, after %d attempts", got, err, len(tried))
	}
	seen := make(map[string]bool)
	for _, configs := range tried {
		for _, c := range configs {
			seen[c.ClientAddr], seen[c.PeerAddr] = true, true
			if c.MaxTxnOps != 7 {
				t.Errorf("settings are lost: %+v", c)
			}
		}
	}
	if len(seen) < 11 { // of 12, of which two may be the same by chance
		t.Errorf("addresses %v, want others each time", seen)
	}
	other := errors.New("another reason")
	calls := 0
	if _, err := etcdserver.OnFreePorts(1, etcdserver.Config{Dir: dir}, func([]etcdserver.Config) (int, error) { calls++; return 0, other }); err != other || calls != 1 {
		t.Errorf("%v after %d calls, want the error at once", err, calls)
	}
}
