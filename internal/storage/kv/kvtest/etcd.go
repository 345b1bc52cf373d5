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

// etcds has a client of the member of each test, and etcdEngines what the engines
// were made of.
var (
	etcds       sync.Map
	etcdEngines sync.Map
	etcdCount   atomic.Int64 // of prefixes
)

type etcdPlace struct {
	client *clientv3.Client
	prefix string
}

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

func openEtcd(t testing.TB, o kv.Options) kv.Engine {
	t.Helper()
	return newEtcd(t, etcdPlace{Etcd(t), fmt.Sprintf("/storage-%d/", etcdCount.Add(1))}, o)
}

// besideEtcd is another storage before the same cluster.
func besideEtcd(t testing.TB, e kv.Engine) kv.Engine {
	place, _ := etcdEngines.Load(e)
	return newEtcd(t, place.(etcdPlace), kv.Options{})
}

func newEtcd(t testing.TB, place etcdPlace, o kv.Options) kv.Engine {
	e := kv.NewEtcd(place.client, place.prefix, o)
	etcdEngines.Store(e, place)
	t.Cleanup(func() { etcdEngines.Delete(e) })
	return e
}
