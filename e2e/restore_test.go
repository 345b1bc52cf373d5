package e2e

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestRestoreKilled: at whichever sync a restore dies, there are either no restored
// values, or they are fenced against everyone from before.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := kv.NewMemory(kv.Options{})
	if err := source.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 5}}, kv.Op{Kind: kv.OpWrite, Key: "a", Value: "x"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "snapshot")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := kv.WriteSnapshot(t.Context(), source, f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	restored, killed := 0, 0
	for sync := 1; restored == 0 || killed == 0 || sync < 10; sync++ {
		if sync > 30 {
			t.Fatalf("killed %d times, restored %d times", killed, restored)
		}
		dir := t.TempDir()
		p := w.start(stracePath(t), "-f", "-o", os.DevNull, "-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=KILL:when="+itoa(sync),
			filepath.Join(bin, "storage"), "restore", "--data", dir, "--floor", "100", file)
		if p.end() == 0 {
			restored++
		} else {
			killed++
		}
		s, url := w.storage("--engine", "bolt", "--data", dir)
		client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		m, err := client.Mark(ctx, "/lock")
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Read(ctx, kv.Request{}, "a")
		if there := err == nil; there != (m.Token == 100) {
			t.Errorf("killed at sync %d: the value is there: %v, and the mark is %d", sync, there, m.Token)
		}
		cancel()
		client.Close()
		s.signal(syscall.SIGTERM)
		s.want(0)
	}
}
