package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/judge/linear"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
)

// etcdCluster is three members, each a process, and the flags of a storage that
// keeps its data there.
func etcdCluster(t *testing.T) (*etcdproc.Cluster, []string) {
	t.Helper()
	g, err := proc.NewGroup(filepath.Join(bin, "gcsim"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cluster, err := etcdproc.Start(ctx, g, 3, etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return cluster, []string{"--engine", "etcd", "--endpoints", strings.Join(cluster.Endpoints(), ",")}
}

// TestLinearizableEtcd: three members, two storages before them. Any one of the
// five may be killed or stand still, the leader among them: no acknowledged write
// is lost, nothing stale admitted.
func TestLinearizableEtcd(t *testing.T) {
	need.Time(t, "to harm a cluster under load")
	w := newWorld(t)
	cluster, flags := etcdCluster(t)
	r := newTrial(t, newSite(w, flags...), newSite(w, flags...))
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	leader := func() *etcdproc.Member {
		m, err := cluster.Leader(r.ctx)
		must(err)
		return m
	}
	kill := func(m *etcdproc.Member) {
		must(m.Process().Kill())
		r.await(50)
		must(m.Restart(r.ctx))
	}
	pause := func(m *etcdproc.Member) {
		must(m.Process().Pause())
		r.await(50)
		must(m.Process().Resume())
	}
	follower := func() *etcdproc.Member {
		l := leader()
		i := slices.IndexFunc(cluster.Members, func(m *etcdproc.Member) bool { return m != l })
		return cluster.Members[i]
	}
	members := []fault{
		{"leader killed", func(*trial, *site) { kill(leader()) }},
		{"leader stands still", func(*trial, *site) { pause(leader()) }},
		{"member killed", func(*trial, *site) { kill(follower()) }},
		{"slow member", func(*trial, *site) { pause(follower()) }},
	}
	r.harm(faultsIn(), slices.Concat(members, crashes, pauses)...)
	r.want(linear.Linearizable)
}

// TestEtcdQuorumLost: without a majority of members the storage says so, and of a
// write that its outcome is not known; then it goes on where it was.
func TestEtcdQuorumLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster, flags := etcdCluster(t)
	_, url := w.storage(flags...)
	client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
	defer client.Close()
	write := func(token fence.Token, value string) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := client.Write(ctx, kv.Request{Claim: fence.Claim{Scope: "/lock", Token: token}}, "a", value)
		return err
	}
	if err := write(34, "before"); err != nil {
		t.Fatal(err)
	}
	for _, m := range cluster.Members[1:] {
		if err := m.Process().Kill(); err != nil {
			t.Fatal(err)
		}
	}
	request := func(method, path string) (status int, outcome, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Fencing-Scope", "/lock")
		if method == http.MethodPut {
			req.Header.Set("Fencing-Token", "35")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Fencing-Outcome"), bodyOf(t, resp)
	}
	for _, tt := range []struct{ method, path, outcome, says string }{
		{"PUT", "/v1/kv/a", "unknown", `"outcome":"unknown"`},
		{"GET", "/v1/kv/a", "none", `"outcome":"none"`},
		{"GET", "/readyz", "", "engine: waits for etcd at " + cluster.Members[0].Endpoint()},
	} {
		status, outcome, body := request(tt.method, tt.path)
		if status != http.StatusServiceUnavailable || outcome != tt.outcome || !strings.Contains(body, tt.says) {
			t.Errorf("%s %s: %d, %q, %s; want 503, %q, %s", tt.method, tt.path, status, outcome, body, tt.outcome, tt.says)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	back := make(chan error, 2)
	for _, m := range cluster.Members[1:] {
		go func() { back <- m.Restart(ctx) }()
	}
	for range 2 {
		if err := <-back; err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error { return write(36, "after") })
	if err := write(34, "stale"); !errors.Is(err, fence.ErrStale) {
		t.Error("a stale write was admitted")
	}
	item, err := client.Read(ctx, kv.Request{}, "a")
	if err != nil || item != (kv.Item{Value: "after", Token: 36}) {
		t.Errorf("%+v, %v", item, err)
	}
}

// eventually tries until it succeeds.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// TestEtcdBatch: 1,024 operations are one Txn, where etcd is started for it.
func TestEtcdBatch(t *testing.T) {
	w := newWorld(t)
	_, flags := etcdCluster(t)
	_, url := w.storage(flags...)
	client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
	defer client.Close()
	var ops []kv.Op
	for i := range kv.MaxOps {
		ops = append(ops, kv.Op{Kind: kv.OpWrite, Key: fmt.Sprint("key", i), Value: "x"})
	}
	if _, err := client.Batch(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 34}}, ops...); err != nil {
		t.Fatal(err)
	}
	if item, err := client.Read(t.Context(), kv.Request{}, "key1023"); err != nil || item.Token != 34 {
		t.Errorf("%+v, %v", item, err)
	}
}
