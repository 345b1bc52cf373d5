package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestServiceExample: of two replicas of examples/service one leads; when its tenure is gone the
// other one does, and what shows the first one's token is refused, and counted. Attempts, tenures
// and requests are traced, and the keeper's part of a write has the leader's as its parent.
func TestServiceExample(t *testing.T) {
	need.Time(t, "to compile the example")
	t.Parallel()
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", bin+"/", "../examples/service").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w := newWorld(t)
	endpoint, etcd := w.etcd()
	keeper, other := proctest.Nobody(t), proctest.Nobody(t)
	var mu sync.Mutex
	var collected []byte // of traces
	collect := func(more []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		collected = append(collected, more...)
		return slices.Clone(collected)
	}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if all := collect(body); r.Method == http.MethodGet {
			fmt.Fprint(w, strings.Map(legible, string(all)))
		}
	}))
	t.Cleanup(collector.Close)
	traces := strings.TrimPrefix(collector.URL, "http://")
	toKeeper := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: keeper})
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		collect([]byte("\nparent " + r.Header.Get("Traceparent")))
		toKeeper.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	replica := func(addr string, more ...string) {
		p := w.prepare("service", append([]string{"-listen", addr, "-keeper", "http://" + keeper, "-etcd", endpoint}, more...)...)
		p.cmd.Env = append(p.cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_BSP_SCHEDULE_DELAY=20")
		if err := p.start(); err != nil {
			t.Fatal(err)
		}
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
	replica(other, "-keeper", between.URL)
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
	for _, text := range []string{"lock.token", "tenure", "/report", "\nparent 00-"} {
		awaitText(traces, text)
	}

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

// legible keeps what can be read in a message of bytes.
func legible(r rune) rune {
	if unicode.IsGraphic(r) && r != unicode.ReplacementChar {
		return r
	}
	return '\n'
}
