package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
)

// hearing is a run that notes what it is told, and after how many seconds.
type hearing struct {
	service.Account
	began time.Time

	mu   sync.Mutex
	told []string
}

func (h *hearing) Tell(events ...history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		after := time.Unix(0, int64(e.At)).Sub(h.began).Seconds()
		h.told = append(h.told, strings.TrimSpace(fmt.Sprint(after, " ", e.Kind, " ", e.Scope, " ", e.Tenure, " ", e.Token, " ", e.Cause, " ", e.Text)))
	}
}

// change is what happens to the Lease of /lock after so many seconds, with the revision 10, 20 and so on: a holder writes it
// for three seconds, at a time by the holder's clock; or "gone".
type change struct {
	after, clock int
	holder       string
}

// TestAccount: a tenure begins when a Lease names its holder, goes on when that one renews the Lease, and ends when somebody
// else changes the Lease, or nobody does.
func TestAccount(t *testing.T) {
	for name, c := range map[string]struct {
		changes []change
		want    []string
	}{
		"released": {[]change{{0, 0, "a"}, {2, 2, "a"}, {4, 4, ""}, {5, 5, "b"}},
			[]string{"0 granted /lock a 10", "4 ended /lock a 0 revoked its Lease was emptied", "5 granted /lock b 40", "8 ended /lock b 0"}},
		"expired": {[]change{{0, 0, "a"}, {2, 2, "a"}, {6, 6, "b"}},
			[]string{"0 granted /lock a 10", "5 ended /lock a 0", "6 granted /lock b 30", "9 ended /lock b 0"}},
		"overwritten": {[]change{{0, 0, "a"}, {2, 2, "b"}},
			[]string{"0 granted /lock a 10", "2 ended /lock a 0 revoked another name was written into its Lease", "2 granted /lock b 20", "5 ended /lock b 0"}},
		"taken by one who has seen the last change before": {[]change{{0, 0, "a"}, {2, 3, "b"}},
			[]string{"0 granted /lock a 10", "2 ended /lock a 0", "2 granted /lock b 20", "5 ended /lock b 0"}},
		"renewed too late": {[]change{{0, 0, "a"}, {4, 4, "a"}, {8, 8, "a"}},
			[]string{"0 granted /lock a 10", "3 ended /lock a 0", "4 granted /lock a/2 20", "7 ended /lock a/2 0", "8 granted /lock a/3 30", "11 ended /lock a/3 0"}},
		"deleted": {[]change{{0, 0, "a"}, {1, 0, "gone"}, {2, 2, "a"}},
			[]string{"0 granted /lock a 10", "1 ended /lock a 0 revoked its Lease was deleted", "2 granted /lock a/2 30", "5 ended /lock a/2 0"}},
		"emptied by another": {[]change{{0, 0, "a"}, {1, 1, ""}, {2, 2, "a"}},
			[]string{"0 granted /lock a 10", "1 ended /lock a 0 revoked its Lease was emptied", "2 granted /lock a/2 30", "5 ended /lock a/2 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hearing{began: time.Now()}
				a, key := newAccount(h, []string{"/lock"}), keyOf("/lock")
				for i, c := range c.changes {
					time.Sleep(time.Until(h.began.Add(time.Duration(c.after) * time.Second)))
					if c.holder == "gone" {
						a.gone(key, time.Now())
						continue
					}
					clock := time.Unix(int64(c.clock), 0).UTC().Format("2006-01-02T15:04:05.000000Z")
					object := fmt.Sprintf(`{"kind":"Lease","spec":{"holderIdentity":%q,"leaseDurationSeconds":3,"acquireTime":%q,"renewTime":%[2]q,"leaseTransitions":1}}`, c.holder, clock)
					if err := a.put(key, []byte(object), int64(i+1)*10, time.Now()); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if !slices.Equal(h.told, c.want) {
					t.Errorf("told\n%s\nwant\n%s", strings.Join(h.told, "\n"), strings.Join(c.want, "\n"))
				}
			})
		})
	}
}

// TestAccountReads: a Lease that is no JSON ends the account.
func TestAccountReads(t *testing.T) {
	a := newAccount(new(hearing), []string{"/lock"})
	if err := a.put(keyOf("/lock"), []byte("k8s\x00"), 1, time.Now()); err == nil || !strings.Contains(err.Error(), "/registry/leases/default/lock") {
		t.Errorf("got %v, want an error that names the Lease", err)
	}
}

// TestLockOf: the lock of a tenure that goes on.
func TestLockOf(t *testing.T) {
	a := newAccount(new(hearing), []string{"/lock", "/b"})
	if err := a.put(keyOf("/b"), []byte(`{"spec":{"holderIdentity":"a","leaseDurationSeconds":60}}`), 1, time.Now()); err != nil {
		t.Fatal(err)
	}
	if in, none := a.lockOf("a"), a.lockOf("b"); in != "/b" || none != "" {
		t.Errorf("a holds %q, and b %q", in, none)
	}
}
