package clientcmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/clientcmd"
	"github.com/fencelab/fencelab/internal/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/service/etcd"
)

func TestWork(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	var ended sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		ended.Go(func() {
			code, stdout, stderr := status(t, w.Args("work", "--name", name, "--rounds", "3", "--work", "10ms")...)
			if code != 0 || stdout != "" || strings.Count(stderr, "wrote") != 3 ||
				!strings.Contains(stderr, `rounds=3 written=3 stale=0 failed=0 lost=0`) {
				t.Errorf("status %d, and it says\n%s%s", code, stdout, stderr)
			}
		})
	}
	ended.Wait()
	item, err := w.KV.Read(t.Context(), kv.Request{}, "counter")
	if err != nil || !strings.HasSuffix(item.Value, "round 3") {
		t.Errorf("counter is %q, %v", item.Value, err)
	}
	w.WantFree(t, "/lock")
}

// holder waits until one announces itself whose tenure is owner.
func holderOf(t *testing.T, w *clienttest.World, owner string) (key string, h clientcmd.Holder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clienttest.Patience)
	defer cancel()
	key = etcd.HolderPrefix + "/lock/" + path.Base(owner)
	for r := range w.Etcd.Watch(ctx, key, clientv3.WithRev(1)) {
		if len(r.Events) > 0 {
			if err := json.Unmarshal(r.Events[0].Kv.Value, &h); err != nil {
				t.Fatal(err)
			}
			return key, h
		}
	}
	t.Fatalf("nobody announces itself at %s", key)
	panic("unreachable")
}

// TestWorkThatIsPaused stops the holder, as a nemesis does that finds it by its
// announcement.
func TestWorkThatIsPaused(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	cmd := clienttest.Process(t, "client", w.Args("work", "--name", "one", "--rounds", "1", "--work", "500ms")...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	owner := w.Queue(t, "/lock", 1)[0]
	key, h := holderOf(t, w, owner)
	if h != (clientcmd.Holder{Name: "one", PID: cmd.Process.Pid}) {
		t.Errorf("announced: %+v, want one and %d", h, cmd.Process.Pid)
	}
	if err := syscall.Kill(h.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	other := w.Take(t, "/lock") // once the lease has run out
	if got, err := w.Etcd.Get(t.Context(), key); err != nil || got.Count != 0 {
		t.Errorf("the announcement is still there: %v, %v", got, err)
	}
	if _, err := w.KV.Write(t.Context(), kv.Request{Claim: other.Grant().Claim()}, "counter", "other"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(h.PID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`rounds=1 written=0 stale=1 failed=0 lost=1`, "refused: a later holder was here",
		`highest=` + other.Grant().Token.String(),
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it says\n%s\nwant %s in it", said.String(), want)
		}
	}
	if item, err := w.KV.Read(t.Context(), kv.Request{}, "counter"); err != nil || item.Value != "other" {
		t.Errorf("counter is %q, %v", item.Value, err)
	}
}

func TestWorkIsInterrupted(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	cmd := clienttest.Process(t, "client", w.Args("work", "--rounds", "1000", "--work", "1h")...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	holderOf(t, w, w.Queue(t, "/lock", 1)[0])
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "rounds=0 written=0 stale=0") {
		t.Errorf("it ends with %v and says\n%s", err, said.String())
	}
	w.WantFree(t, "/lock")
}
