package etcdproc_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// saved is a cluster that wrote "before", was saved to file, and wrote "since".
func saved(t *testing.T, n int) (w *world, file string) {
	t.Helper()
	w, file = start(t, n), filepath.Join(t.TempDir(), "snapshot")
	w.put("before")
	if err := w.Save(w.ctx, file); err != nil {
		t.Fatal(err)
	}
	w.put("since")
	return w, file
}

// revision asks for the revision and for how many there are of the keys of saved,
// by the client that was there all the time.
func (w *world) revision() (revision, before, since int64) {
	w.t.Helper()
	for {
		got, err := w.client.Txn(w.ctx).Then(clientv3.OpGet("before"), clientv3.OpGet("since")).Commit()
		if err == nil {
			return got.Header.Revision, got.Responses[0].GetResponseRange().Count, got.Responses[1].GetResponseRange().Count
		}
		if w.ctx.Err() != nil {
			w.t.Fatal(err)
		}
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		w, file := saved(t, n)
		revision, _, _ := w.revision()
		endpoints := w.Endpoints()
		if err := w.Members[0].Process().Pause(); err != nil { // is no obstacle
			t.Fatal(err)
		}
		if err := w.Restore(w.ctx, file, etcdproc.Restored{}); err != nil {
			t.Fatal(err)
		}
		if got, before, since := w.revision(); got != revision-1 || before != 1 || since != 0 {
			t.Errorf("%d members: revision %d with %d and %d keys, want %d with 1 and 0", n, got, before, since, revision-1)
		}
		w.grantInOrder()
		if !slices.Equal(w.Endpoints(), endpoints) {
			t.Errorf("%d members: endpoints %v, want %v as before", n, w.Endpoints(), endpoints)
		}
		for _, m := range w.Members {
			w.has(m, "before")
		}
		w.put("afterwards")
	}
}

// TestRestoreBumped: no revision is given out twice, and a watch from before ends.
func TestRestoreBumped(t *testing.T) {
	t.Parallel()
	w, file := saved(t, 1)
	revision, _, _ := w.revision()
	if err := w.Restore(w.ctx, file, etcdproc.Restored{BumpRevision: 1000, MarkCompacted: true}); err != nil {
		t.Fatal(err)
	}
	if got, before, since := w.revision(); got != revision-1+1000 || before != 1 || since != 0 {
		t.Errorf("revision %d with %d and %d keys, want %d with 1 and 0", got, before, since, revision-1+1000)
	}
	told := <-w.client.Watch(w.ctx, "before", clientv3.WithRev(revision))
	if err := told.Err(); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("a watch from revision %d is told %v, %v, want compacted", revision, told.Events, err)
	}
}

// TestRestoreAgain: from the same file, after other writes.
func TestRestoreAgain(t *testing.T) {
	t.Parallel()
	w, file := saved(t, 1)
	revision, _, _ := w.revision()
	for range 2 {
		if err := w.Restore(w.ctx, file, etcdproc.Restored{}); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := w.revision(); got != revision-1 {
			t.Errorf("revision %d, want %d", got, revision-1)
		}
		w.put("since")
	}
}

// TestNotRestored: what cannot be restored leaves the cluster as it is.
func TestNotRestored(t *testing.T) {
	w, file := saved(t, 1)
	revision, _, _ := w.revision()
	junk := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(junk, []byte(strings.Repeat("junk ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file string
		how  etcdproc.Restored
		want string
	}{
		{junk, etcdproc.Restored{}, "hash"},
		{file + "s", etcdproc.Restored{}, "no such file"},
		{file, etcdproc.Restored{BumpRevision: 1}, "both or none"},
		{file, etcdproc.Restored{MarkCompacted: true}, "both or none"},
	} {
		if err := w.Restore(w.ctx, c.file, c.how); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c, err, c.want)
		}
	}
	if got, _, since := w.revision(); got != revision || since != 1 {
		t.Errorf("revision %d with %d keys since the snapshot, want %d with 1", got, since, revision)
	}
}

func TestSaveSaysWhere(t *testing.T) {
	w := start(t, 1)
	file := filepath.Join(t.TempDir(), "missing", "snapshot")
	if err := w.Save(w.ctx, file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want one that names %s", err, file)
	}
}
