// Package kvtest opens every engine of package kv for a test, and crashes it.
package kvtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// Kind is a kind of engine.
type Kind struct {
	Name string
	// Open opens an empty one, which the end of the test closes.
	Open func(t testing.TB, o kv.Options) kv.Engine
	// Crash opens what a crash of e leaves. Nil: nothing.
	Crash func(t testing.TB, e kv.Engine) kv.Engine
	// Second opens the data of e beside e. Nil: nobody can.
	Second func(t testing.TB, e kv.Engine) kv.Engine
}

// Kinds are all kinds.
var Kinds = []Kind{
	{"memory", func(_ testing.TB, o kv.Options) kv.Engine { return kv.NewMemory(o) }, nil, nil},
	{"bolt", openBolt, openAnew, nil},
	{"etcd", openEtcd, openAnew, openAnew}, // it has nothing to lose
}

// Subject shows an engine of kind k to the laws: as show does, from which engine takes it back.
func (k Kind) Subject(t testing.TB, show func(kv.Engine) fencetest.Store, engine func(fencetest.Store) kv.Engine) fencetest.Subject {
	open := func(o kv.Options) (fencetest.Store, error) { return show(k.Open(t, o)), nil }
	again := func(how func(testing.TB, kv.Engine) kv.Engine) func(context.Context, fencetest.Store) (fencetest.Store, error) {
		if how == nil {
			return nil
		}
		return func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			return show(how(t, engine(s))), nil
		}
	}
	return fencetest.Subject{
		Open:        func(context.Context) (fencetest.Store, error) { return open(kv.Options{}) },
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) { return open(Bounded(bound)) },
		Restart:     again(k.Crash),
		Second:      again(k.Second),
		Idle:        time.Second, // no engine has a clock
	}
}

// Bounded are the options of an engine whose issuer has given out no token over bound.
func Bounded(bound fence.Token) kv.Options {
	return kv.Options{Bound: func(fence.Claim) (fence.Token, error) { return bound, nil }}
}

// Found turns the result of an engine's Read into that of a Store of the laws.
func Found(item kv.Item, err error) (string, bool, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return "", false, nil
	}
	return item.Value, err == nil, err
}

// BoltFile is the name of the bolt engine's file.
const BoltFile = "fencelab.db"

// anew has how to open once more what each engine of a test keeps.
var anew sync.Map

func remember(t testing.TB, e kv.Engine, open func() kv.Engine) kv.Engine {
	anew.Store(e, open)
	t.Cleanup(func() { anew.Delete(e) })
	return e
}

func openAnew(_ testing.TB, e kv.Engine) kv.Engine {
	open, _ := anew.Load(e)
	return open.(func() kv.Engine)()
}

func openBolt(t testing.TB, o kv.Options) kv.Engine { return boltIn(t, t.TempDir(), o) }

func boltIn(t testing.TB, dir string, o kv.Options) kv.Engine {
	t.Helper()
	return remember(t, OpenBolt(t, dir, o), func() kv.Engine { return crashed(t, dir) })
}

// OpenBolt opens a bolt engine in dir, which the end of the test closes.
func OpenBolt(t testing.TB, dir string, o kv.Options) *kv.Bolt {
	t.Helper()
	e, err := kv.OpenBolt(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// crashed opens a copy of an engine's file as it is on the disk, without a Close: what a crash leaves.
func crashed(t testing.TB, from string) kv.Engine {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(from, BoltFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, BoltFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return boltIn(t, dir, kv.Options{})
}

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
