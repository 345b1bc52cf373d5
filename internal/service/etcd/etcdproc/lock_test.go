package etcdproc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// TestLockBesideAnIsolatedLeader: who has a connection to it, too, is granted the lock by the
// others, and leaves nothing behind.
func TestLockBesideAnIsolatedLeader(t *testing.T) {
	need.Time(t, "to wait for what a leader answers that is cut off")
	w := startBy(t, 3, etcdproc.StartLinked)
	w.put("before")
	old := w.leader()
	var backends []*etcdlock.Backend
	for range 6 { // a third of them asks the leader first
		client, err := clientv3.New(clientv3.Config{Endpoints: w.Endpoints(), Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		b, err := etcdlock.New(client, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // by a connection to each member; and it has a lease
			if err := lock.Do(w.ctx, b, "/before", func(context.Context, lock.Grant) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		backends = append(backends, b)
	}
	w.Isolate(old)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // each answer of the old leader takes 7 s
	defer cancel()
	var group sync.WaitGroup
	for n, b := range backends {
		group.Go(func() {
			tenure, err := b.Lock(ctx, fmt.Sprint("/lock", n))
			if err != nil {
				t.Error(err)
				return
			}
			if err := tenure.Unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	other := w.Members[0]
	if other == old {
		other = w.Members[1]
	}
	if got, err := w.at(other).Get(ctx, "/lock", clientv3.WithPrefix()); err != nil || got.Count != 0 {
		t.Errorf("%v, %v, want no key", got, err)
	}
}
