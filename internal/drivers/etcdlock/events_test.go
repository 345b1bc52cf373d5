package etcdlock_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// eventsTTL is how long leases last while an observer is told of them: they are renewed in time on
// a busy machine, too.
const eventsTTL = 4 * time.Second

// TestEvents: an observer is told of everything.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newService(t)
	locktest.Observed{
		Subject: locktest.Subject{Open: s.open(eventsTTL), TTL: eventsTTL, Slack: 3 * time.Second},
		Revoke: func(ctx context.Context, g lock.Grant) error {
			client, _, err := s.connect()
			if err != nil {
				return err
			}
			defer client.Close()
			got, err := client.Get(ctx, g.Owner)
			if err != nil {
				return err
			}
			_, err = client.Revoke(ctx, clientv3.LeaseID(got.Kvs[0].Lease))
			return err
		},
	}.Run(t)
}

// TestRenewalIsToldToAll: a renewal of a lease is told to all tenures that stand on it, and to
// none that is over.
func TestRenewalIsToldToAll(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.join(t, 6*time.Second)
	renewals := make(chan string, 100)
	listen := func(scope string) lock.Tenure {
		tenure := a.take(t, scope)
		tenure.OnRenewal(func(_ time.Duration, err error) {
			if err == nil {
				renewals <- scope
			}
		})
		return tenure
	}
	listen("/a")
	mustUnlock(t, listen("/b"))
	for len(renewals) > 0 { // from before
		<-renewals
	}
	listen("/c")
	got := make(map[string]bool)
	for !got["/a"] || !got["/c"] {
		select {
		case scope := <-renewals:
			got[scope] = true
		case <-time.After(deadline):
			t.Fatalf("told were only %v", got)
		}
	}
	if got["/b"] {
		t.Error("a tenure that is over was told of a renewal")
	}
}
