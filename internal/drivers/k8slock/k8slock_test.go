package k8slock_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/k8slock"
)

const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

// lease is what others see.
type lease struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		HolderIdentity       string `json:"holderIdentity"`
		LeaseDurationSeconds int    `json:"leaseDurationSeconds"`
	} `json:"spec"`
}

// send sends a request about Leases, by no backend, and returns the Lease that is answered.
func send(t *testing.T, addr, method, path, mediaType, body string) (status int, l lease) {
	t.Helper()
	status, said, err := kubetest.Send(t.Context(), kubetest.Client(), method, addr, leases+path, mediaType, body)
	if err == nil && status < 300 {
		err = json.Unmarshal([]byte(said), &l)
	}
	if err != nil {
		t.Fatalf("%s %s: %d, %s, %v", method, path, status, said, err)
	}
	return status, l
}

// patch changes the Lease of the scope, as any client may.
func patch(t *testing.T, addr, body string) {
	t.Helper()
	if status, _ := send(t, addr, http.MethodPatch, "/"+scope, "application/merge-patch+json", body); status != http.StatusOK {
		t.Fatalf("%s: %d", body, status)
	}
}

// TestLease: a Lease has the names that others look for, and its token is the resourceVersion of the grant, also when
// renewals have raised it.
func TestLease(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	b, _ := backend(t, addr, ttl*3)
	tenure, err := b.Lock(lock.WithWords(bounded(t), "web7"), scope)
	if err != nil {
		t.Fatal(err)
	}
	g := tenure.Grant()
	_, first := send(t, addr, http.MethodGet, "/"+scope, "", "")
	if fmt.Sprint(g.Token) != first.Metadata.ResourceVersion || first.Spec.HolderIdentity != g.Owner || first.Spec.LeaseDurationSeconds != 3 {
		t.Errorf("the Lease is %+v after the grant %+v", first, g)
	}
	patch(t, addr, `{"metadata": {"labels": {"team": "billing"}}}`)
	renewed := make(chan error, 100)
	tenure.(lock.Renewer).OnRenewal(func(_ time.Duration, err error) { renewed <- err })
	for range 2 { // the first may have been under way before the patch
		if err := <-renewed; err != nil {
			t.Error(err)
		}
	}
	state, err := b.Inspect(bounded(t), scope)
	if err != nil || len(state.Holders) != 1 || state.Holders[0].Grant != g || state.Holders[0].Words != "web7" {
		t.Errorf("Inspect tells of %+v, %v; want %+v", state, err, g)
	}
	if err := tenure.Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
	_, last := send(t, addr, http.MethodGet, "/"+scope, "", "")
	if last.Spec.HolderIdentity != "" || last.Metadata.Labels["team"] != "billing" {
		t.Errorf("after the release the Lease is %+v", last)
	}
}

// TestDeleted: a holder whose Lease is deleted has lost it, and makes none. The next holder has a higher token.
func TestDeleted(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	b, _ := backend(t, addr, ttl*3)
	first := take(t, b)
	if status, _ := send(t, addr, http.MethodDelete, "/"+scope, "", ""); status != http.StatusOK {
		t.Fatalf("the delete: %d", status)
	}
	select {
	case <-first.Done():
	case <-bounded(t).Done():
		t.Fatal("the tenure goes on without its Lease")
	}
	if err := first.Err(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the tenure ended with %v", err)
	}
	if status, l := send(t, addr, http.MethodGet, "/"+scope, "", ""); status != http.StatusNotFound {
		t.Errorf("the Lease is there again: %d, %+v", status, l)
	}
	if err := first.Unlock(bounded(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock returned %v", err)
	}
	second := take(t, b)
	if second.Grant().Token <= first.Grant().Token {
		t.Errorf("token %d after %d", second.Grant().Token, first.Grant().Token)
	}
	if err := second.Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
}

// TestOthers: a Lease that another program has is not taken before its duration is over, and not emptied.
func TestOthers(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	b, _ := backend(t, addr, long)
	tenure := take(t, b)
	patch(t, addr, `{"spec": {"holderIdentity": "elector", "leaseDurationSeconds": 2}}`)
	seen := time.Now()
	if err := tenure.Unlock(bounded(t)); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock returned %v", err)
	}
	if _, l := send(t, addr, http.MethodGet, "/"+scope, "", ""); l.Spec.HolderIdentity != "elector" {
		t.Errorf("after an Unlock of another tenure the Lease is %+v", l)
	}
	if _, err := b.TryLock(bounded(t), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock returned %v", err)
	}
	state, err := b.Inspect(bounded(t), scope)
	if err != nil || len(state.Holders) != 1 || state.Holders[0].Owner != "elector" || state.Holders[0].Token != 0 {
		t.Errorf("Inspect tells of %+v, %v", state, err)
	}
	next := take(t, b)
	if took := time.Since(seen); took < 2*time.Second {
		t.Errorf("taken after %v of a Lease of 2 s", took)
	}
	if err := next.Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
}

// TestCutOff: an attempt without an answer takes nothing, and the next one goes on.
func TestCutOff(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	b, link := backend(t, addr, long)
	link.Crash()
	_, err := b.TryLock(bounded(t), scope)
	if err == nil || fence.OutcomeOf(err) != fence.Definite { // it has read nothing
		t.Errorf("without an API server: %v", err)
	}
	link.Wake()
	if err := take(t, b).Unlock(bounded(t)); err != nil {
		t.Error(err)
	}
}

// TestErrors: each says what is wrong, and that nothing was done.
func TestErrors(t *testing.T) {
	addr := kubetest.Start(t).API.Addr
	nowhere, err := k8slock.New("https://"+addr, "nowhere", ttl, k8slock.HTTP(kubetest.Client()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = nowhere.TryLock(bounded(t), scope)
	if err == nil || !strings.Contains(err.Error(), `namespaces "nowhere" not found`) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("no namespace: %v", err)
	}
	stranger, err := k8slock.New("https://"+addr, "default", ttl)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = stranger.TryLock(bounded(t), scope); err == nil || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("a client that does not know the certificate: %v", err)
	}
	for _, scope := range []string{"", strings.Repeat("x", 254)} {
		if _, err := nowhere.Lock(bounded(t), scope); !errors.Is(err, fence.ErrInvalidScope) {
			t.Errorf("%.10q: %v", scope, err)
		}
	}
}
