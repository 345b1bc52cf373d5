package etcd_test

import (
	"context"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// TestKeepAlive: the address by which a lease is renewed falls silent, without an error.
// A client that pings goes on by another one and keeps its lock; any other loses it,
// though nothing keeps it from the other address.
func TestKeepAlive(t *testing.T) {
	need.Time(t, "to outlast the shortest interval of gRPC's pings")
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
			w.awaitAnswer()
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
	lease         clientv3.LeaseID // of the lock's key
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
	d := etcd.Service()
	settings, err := setting.Complete(slices.Concat(setting.Client, d.Client), chosen)
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

// awaitAnswer waits until the client was answered once that renews the lease: until then
// it asks twice a second, and gives up after 5 s. Afterwards it asks every 5 s.
func (w *twoWays) awaitAnswer() {
	w.t.Helper()
	for w.left() > 12 {
		time.Sleep(look)
	}
}

// awaitRenewal waits until a tenure's lease is renewed after most of its time is gone, or
// until the tenure is lost, and says which.
func (w *twoWays) awaitRenewal(tenure service.Tenure) (renewed bool) {
	w.t.Helper()
	const most = 8 // seconds are left
	for least := int64(most + 1); ; {
		left := w.left()
		if least <= most && left > most {
			return true
		}
		least = min(least, left)
		select {
		case <-tenure.Done():
			return false
		case <-time.After(look):
		}
	}
}

// look is how often the tests look at the lease.
const look = 50 * time.Millisecond

// left is how many seconds the lease of the lock's one key has left; -1 where it is over.
func (w *twoWays) left() int64 {
	w.t.Helper()
	if w.lease == clientv3.NoLease {
		held, err := w.etcd.Get(w.t.Context(), etcdlock.Prefix("/lock"), clientv3.WithPrefix())
		if err != nil || len(held.Kvs) != 1 {
			w.t.Fatalf("%v, %v, want the lock's one key", held, err)
		}
		w.lease = clientv3.LeaseID(held.Kvs[0].Lease)
	}
	left, err := w.etcd.TimeToLive(w.t.Context(), w.lease)
	if err != nil {
		w.t.Fatal(err)
	}
	return left.TTL
}
