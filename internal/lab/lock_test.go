package lab_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
)

// TestLockOutlivesItsLease: a client whose lease runs out while it waits for the
// lock asks anew, as long as there is hope. Here its leases are revoked: the first
// one only, or all.
func TestLockOutlivesItsLease(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		revoked int // leases of client1
		says    string
	}{
		"once":   {1, ""},
		"always": {5, "client1's lease of 5s ran out 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			client := kvtest.Etcd(t)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			revoked := make(chan error, 1)
			go func() { revoked <- revoke(ctx, client, tt.revoked, tt.says == "") }()
			s := parse(t, `title: t
clients:
  client1: {lock: /lock, ttl: 5s} # it learns of the end of a lease when it renews it
  client2: {lock: /lock, ttl: 60s}
steps: [{client2: lock}, {client1: lock}]
variants:
  only: {control: true, expect: {verdict: blocked}}
`)
			events, err := lab.Run(ctx, s, &s.Variants[0], lab.Options{Services: all.List, Exe: os.Args[0], Endpoints: client.Endpoints()})
			if tt.says == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want an error that says %q", err, tt.says)
			}
			if err := <-revoked; err != nil {
				t.Error(err)
			}
			got := sketch(events)
			if n := strings.Count(got, "client1 fail lock expired"); n != tt.revoked {
				t.Errorf("%d locks of client1 failed, want %d, in\n%s", n, tt.revoked, got)
			}
			if held := strings.Contains(got, "etcd granted client1"); held != (err == nil) {
				t.Errorf("that client1 holds the lock is %v in\n%s", held, got)
			}
		})
	}
}

// revoke ends the leases of the places that a client takes in the queue, one after
// another, and then, if it is to get the lock, that of the holder.
func revoke(ctx context.Context, client *clientv3.Client, places int, freed bool) error {
	var last int64
	for range places {
		queue, err := awaitTwo(ctx, client, last)
		if err != nil {
			return err
		}
		last = queue[1].CreateRevision
		if _, err := client.Revoke(ctx, clientv3.LeaseID(queue[1].Lease)); err != nil {
			return err
		}
	}
	if !freed {
		return nil
	}
	queue, err := awaitTwo(ctx, client, last)
	if err == nil {
		_, err = client.Revoke(ctx, clientv3.LeaseID(queue[0].Lease))
	}
	return err
}

// awaitTwo waits until the queue has two places, in order, the second of which came
// after a revision.
func awaitTwo(ctx context.Context, client *clientv3.Client, after int64) ([]*mvccpb.KeyValue, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range client.Watch(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithCreatedNotify()) {
		now, err := client.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		if err != nil {
			return nil, err
		}
		if len(now.Kvs) == 2 && now.Kvs[1].CreateRevision > after {
			return now.Kvs, nil
		}
	}
	return nil, errors.Join(ctx.Err(), errors.New("the watch ended"))
}
