package eslock_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
)

// TestDeletedIndex: the holder is told, and no lock is granted in the index that the node has made
// by itself: tokens would begin again.
func TestDeletedIndex(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	b, _ := backend(t, addr, 3*ttl, index) // a renewal is answered in time
	tenure := take(t, b)
	remove(t, addr, indexOf(t))
	select {
	case <-tenure.Done():
	case <-time.After(estest.Deadline):
		t.Fatal("Done is open though the index is gone")
	}
	if err := tenure.Err(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the tenure ended with %v, want ErrLost", err)
	}
	if again, err := b.Lock(bounded(t), scope); err == nil || !strings.Contains(err.Error(), "was not made by Create") || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("Lock returned %+v, %v, want that Create did not make the index", again, err)
	}
	remove(t, addr, indexOf(t))
	if err := eslock.Create(bounded(t), "http://"+addr, index); err != nil {
		t.Fatal(err)
	}
	if err := take(t, b).Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
}

// TestBusyNode: a tenure lives on though the node refuses half of the requests (429), and a call
// that was refused says what is known.
func TestBusyNode(t *testing.T) {
	addr := node.Get(t).Addr
	var busy, refuse atomic.Bool
	var requests atomic.Int64
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addr})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() || busy.Load() && requests.Add(1)%4 < 2 {
			http.Error(w, `{"error": {"type": "es_rejected_execution_exception"}, "status": 429}`, http.StatusTooManyRequests)
			return
		}
		to.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	const lease = 3 * ttl
	b, _ := backend(t, strings.TrimPrefix(proxy.URL, "http://"), lease, created(t, addr))
	tenure := take(t, b)
	busy.Store(true)
	select {
	case <-tenure.Done():
		t.Errorf("the tenure ended: %v", tenure.Err())
	case <-time.After(2 * lease):
	}
	refuse.Store(true)
	if _, err := b.TryLock(bounded(t), scope); err == nil || fence.OutcomeOf(err) != fence.Definite || !strings.Contains(err.Error(), "429") {
		t.Errorf("a lock that could not be read: %v, want that it is definite", err)
	}
	if err := tenure.Unlock(bounded(t)); fence.OutcomeOf(err) != fence.Unknown || !strings.Contains(err.Error(), "429") {
		t.Errorf("an unlock that was refused: %v, want that it is unknown", err)
	}
	refuse.Store(false)
	busy.Store(false)
	if err := tenure.Unlock(bounded(t)); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// TestSentTwice: something on the way sends a write again whose answer it has not got, as proxies do, and as a node does
// after a failover. The second one is refused because of the first, which has taken the lock.
func TestSentTwice(t *testing.T) {
	addr := node.Get(t).Addr
	proxy := drivertest.TwiceProxy(t, addr, func(r *http.Request) bool { return r.Method == http.MethodPut })
	index := created(t, addr)
	b, _ := backend(t, strings.TrimPrefix(proxy, "http://"), long, index)
	other, _ := backend(t, addr, long, index)
	for i, attempt := range []func(context.Context, string) (lock.Tenure, error){b.TryLock, b.Lock, b.TryRLock} {
		tenure, err := attempt(bounded(t), scope)
		if err != nil {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
		if token := tenure.Grant().Token; token != fence.Token(i+1) {
			t.Errorf("attempt %d has the token %d", i+1, token)
		}
		if _, err := other.TryLock(bounded(t), scope); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("attempt %d: another one gets %v, want ErrLocked", i+1, err)
		}
		_ = tenure.Unlock(bounded(t)) // nobody can know by which request it is free
	}
}

func TestSentTwiceUnread(t *testing.T) {
	addr := node.Get(t).Addr
	index := created(t, addr)
	other, _ := backend(t, addr, long, index)
	drivertest.TakenTwiceUnread(t, http.DefaultTransport, other, scope, func(client *http.Client) (lock.Backend, error) {
		return eslock.New("http://"+addr, long, index, eslock.HTTP(client))
	})
}

// TestRenewedTwice: a tenure lives on though each of its renewals is sent twice.
func TestRenewedTwice(t *testing.T) {
	addr := node.Get(t).Addr
	proxy := drivertest.TwiceProxy(t, addr, func(r *http.Request) bool { return r.Method == http.MethodPut })
	b, _ := backend(t, strings.TrimPrefix(proxy, "http://"), 3*ttl, created(t, addr))
	drivertest.Renewed(t, take(t, b))
}
