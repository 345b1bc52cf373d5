package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestServiceExample: of two replicas of examples/service one leads; when its tenure is gone the
// other one does, and what shows the first one's token is refused, and counted.
func TestServiceExample(t *testing.T) {
	need.Time(t, "to compile the example")
	t.Parallel()
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", bin+"/", "../examples/service").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := newWorld(t)
	endpoint, etcd := w.etcd()
	keeper, other := proctest.Nobody(t), proctest.Nobody(t)
	replica := func(addr string, more ...string) {
		p := w.start("service", append([]string{"-listen", addr, "-keeper", "http://" + keeper, "-etcd", endpoint}, more...)...)
		t.Cleanup(func() {
			p.signal(syscall.SIGTERM)
			p.want(0)
		})
	}
	awaitText := func(url, text string) string {
		t.Helper()
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			said := "no answer"
			if resp, err := http.Get("http://" + url); err == nil {
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if said = string(body); strings.Contains(said, text) {
					return said
				}
			}
			if time.Now().After(end) {
				t.Fatalf("%s does not say %q, but\n%s", url, text, said)
			}
		}
	}
	replica(keeper, "-data", filepath.Join(t.TempDir(), "report.db"))
	awaitText(keeper+"/report", keeper+" leads")
	state := awaitText(keeper+"/leader", "Words:"+keeper)
	var first int64
	if _, err := fmt.Sscanf(state[strings.Index(state, "Token:"):], "Token:%d", &first); err != nil {
		t.Fatalf("%s: %v", state, err)
	}
	replica(other)
	awaitText(other+"/metrics", `fencelab_lock_waiting{scope="/report"} 1`)
	held, err := etcd.Get(t.Context(), "/report/", clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil || len(held.Kvs) != 1 {
		t.Fatalf("%v, %v: want the leader's key", held, err)
	}
	if _, err := etcd.Revoke(t.Context(), clientv3.LeaseID(held.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
	awaitText(keeper+"/report", other+" leads")
	awaitText(keeper+"/metrics", `fencelab_lock_tenure_seconds_count{result="lost",scope="/report"} 1`)

	late, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+keeper+"/report", strings.NewReader("late"))
	if err != nil {
		t.Fatal(err)
	}
	late.Header.Set("Fencing-Token", fmt.Sprint(first))
	resp, err := http.DefaultClient.Do(late)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("what the first leader writes late gets %s", resp.Status)
	}
	if said := awaitText(keeper+"/metrics", "fencelab_fence_claims_total"); strings.Contains(said, `{result="stale",scope="/report"} 0`) {
		t.Error("nothing is counted as stale")
	}
}
