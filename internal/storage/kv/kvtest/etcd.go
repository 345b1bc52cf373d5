package kvtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// etcds has a client of the member of each test.
var etcds sync.Map

// Etcd starts a member of etcd for a test, once, and returns a client of it.
func Etcd(t testing.TB) *clientv3.Client {
	t.Helper()
	if client, ok := etcds.Load(t); ok {
		return client.(*clientv3.Client)
	}
	s, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	etcds.Store(t, client)
	t.Cleanup(func() {
		etcds.Delete(t)
		client.Close()
		s.Close()
	})
	return client
}

var etcdCount atomic.Int64 // of prefixes

func openEtcd(t testing.TB, o kv.Options) kv.Engine {
	t.Helper()
	return etcdAt(t, Etcd(t), fmt.Sprintf("/storage-%d/", etcdCount.Add(1)), o)
}

// etcdAt is one of the storages before a cluster.
func etcdAt(t testing.TB, client *clientv3.Client, prefix string, o kv.Options) kv.Engine {
	return remember(t, kv.NewEtcd(client, prefix, o), func() kv.Engine { return etcdAt(t, client, prefix, kv.Options{}) })
}
