package k8slock_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/fencelab/fencelab/internal/drivers/drivertest"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/k8slock"
)

func writes(r *http.Request) bool { return r.Method != http.MethodGet }

// TestSentTwice: the second write is refused because of the first one, which has taken the lock.
func TestSentTwice(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	other, _ := backend(t, addr, long)
	web := kubetest.Client()
	b, err := k8slock.New("https://"+addr, "default", long, k8slock.HTTP(&http.Client{Transport: drivertest.Twice{RoundTripper: web.Transport, Some: writes}}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // the first makes the Lease
		tenure, err := b.TryLock(bounded(t), scope)
		if err != nil {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
		state, err := other.Inspect(bounded(t), scope)
		if err != nil || len(state.Holders) != 1 || state.Holders[0].Grant != tenure.Grant() {
			t.Errorf("attempt %d: got %+v, and the Lease says %+v, %v", i+1, tenure.Grant(), state, err)
		}
		if _, err := other.TryLock(bounded(t), scope); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("attempt %d: another one gets %v, want ErrLocked", i+1, err)
		}
		_ = tenure.Unlock(bounded(t)) // nobody can know by which request it is free
	}
	if err := take(t, other).Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
}

func TestSentTwiceUnread(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	other, _ := backend(t, addr, long)
	drivertest.TakenTwiceUnread(t, kubetest.Client().Transport, other, scope, func(client *http.Client) (lock.Backend, error) {
		return k8slock.New("https://"+addr, "default", long, k8slock.HTTP(client))
	})
}

// TestRenewedTwice: a tenure lives on though each of its renewals is sent twice.
func TestRenewedTwice(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	net := drivertest.Twice{RoundTripper: kubetest.Client().Transport, Some: writes}
	b, err := k8slock.New("https://"+addr, "default", 3*ttl, k8slock.HTTP(&http.Client{Transport: net}))
	if err != nil {
		t.Fatal(err)
	}
	drivertest.Renewed(t, take(t, b))
}
