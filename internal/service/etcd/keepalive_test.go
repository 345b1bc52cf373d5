package etcd_test

import (
	"context"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/network"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// TestKeepAlive: the address by which a lease is renewed falls silent, without an error.
// A client that pings goes on by another one and keeps its lock; any other loses it,
// though nothing keeps it from the other address.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings setting.Values
		kept     bool
	}{
		"pings":    {setting.Values{"keepalive": "10s", "keepalive-timeout": "1s"}, true},
		"no pings": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTwoWays(t)
			w.second.Tx.Shut()
			tenure, err := w.dial(tt.settings).Lock(t.Context(), "/lock", "")
			if err != nil {
				t.Fatal(err)
			}
			w.first.Tx.Shut()
			w.first.Rx.Shut()
			w.second.Tx.Open()
			if kept := w.awaitRenewal(tenure); kept != tt.kept {
				t.Errorf("the lock is kept: %t, want %t", kept, tt.kept)
			}
		})
	}
}

// twoWays is an etcd with two addresses, of which each can fall silent.
type twoWays struct {
	t             *testing.T
	first, second *network.Link
	etcd          *clientv3.Client // by none of them
}

func newTwoWays(t *testing.T) *twoWays {
	t.Helper()
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w := &twoWays{t: t}
	for _, l := range []**network.Link{&w.first, &w.second} {
		if *l, err = network.New(server.Endpoint()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*l).Close)
	}
	if w.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{server.Endpoint()}, Logger: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.etcd.Close() })
	return w
}

// dial makes a client that knows both addresses, and whose leases are of 15 s.
func (w *twoWays) dial(chosen setting.Values) service.Client {
	w.t.Helper()
	d := etcd.Dialer{}
	settings, err := setting.Complete(slices.Concat(setting.Client, d.ClientSettings()), chosen)
	if err != nil {
		w.t.Fatal(err)
	}
	settings[setting.TTL] = "15s"
	c, err := d.Dial(service.Options{Endpoints: []string{w.first.Addr(), w.second.Addr()}, Settings: settings})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// awaitRenewal waits until a tenure's lease is renewed after most of its time is gone, or
// until the tenure is lost, and says which.
func (w *twoWays) awaitRenewal(tenure service.Tenure) (renewed bool) {
	w.t.Helper()
	lease, err := w.etcd.Get(w.t.Context(), etcdlock.Prefix("/lock"), clientv3.WithPrefix())
	if err != nil || len(lease.Kvs) != 1 {
		w.t.Fatalf("%v, %v, want the lock's one key", lease, err)
	}
	const most = 8 // seconds are left
	least := int64(most + 1)
	for {
		left, err := w.etcd.TimeToLive(w.t.Context(), clientv3.LeaseID(lease.Kvs[0].Lease))
		if err != nil {
			w.t.Fatal(err)
		}
		if least <= most && left.TTL > most {
			return true
		}
		least = min(least, left.TTL)
		select {
		case <-tenure.Done():
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}
