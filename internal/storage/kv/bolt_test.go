package kv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/pkg/fence"
)

func write(t *testing.T, e kv.Engine, c fence.Claim, key, value string) {
	t.Helper()
	if err := e.Write(t.Context(), kv.Request{Claim: c}, kv.Op{Kind: kv.OpWrite, Key: key, Value: value}); err != nil {
		t.Fatal(err)
	}
}

func TestBoltKeepsAllOverARestart(t *testing.T) {
	dir := t.TempDir()
	value := string([]byte{0, 255, 10})
	e, err := kv.OpenBolt(dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, e, fence.Claim{Scope: "/lock", Token: 34, Sequence: 7}, "a", value)
	write(t, e, fence.Claim{Scope: "/lock", Token: 34, Sequence: 8}, "empty", "")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	again := kvtest.OpenBolt(t, dir, kv.Options{})
	for key, want := range map[string]string{"a": value, "empty": ""} {
		if item, err := again.Read(t.Context(), kv.Request{}, key); err != nil || item != (kv.Item{Value: want, Token: 34}) {
			t.Errorf("%s: %+v, %v", key, item, err)
		}
	}
	if m, err := again.Mark(t.Context(), "/lock"); err != nil || m != (fence.Mark{Token: 34, Sequence: 8}) {
		t.Errorf("mark: %+v, %v", m, err)
	}
}

// TestBoltRefusesForeignFiles: it says what to do, and the file stays as it is.
func TestBoltRefusesForeignFiles(t *testing.T) {
	dir := t.TempDir()
	good := kvtest.OpenBolt(t, dir, kv.Options{})
	write(t, good, fence.Claim{Scope: "/lock", Token: 1}, "a", "x")
	whole, err := os.ReadFile(filepath.Join(dir, kvtest.BoltFile))
	if err != nil {
		t.Fatal(err)
	}
	torn := append([]byte(nil), whole...)
	copy(torn, make([]byte, 2*os.Getpagesize())) // both meta pages
	for name, content := range map[string]string{
		"text":  strings.Repeat("this is no database\n", 1000),
		"short": "x",
		"torn":  string(torn),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, kvtest.BoltFile)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			e, err := kv.OpenBolt(dir, kv.Options{})
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore a backup") {
				t.Errorf("got %v, want an error that names the file and says what to do", err)
			}
			if now, _ := os.ReadFile(path); string(now) != content {
				t.Error("the file was changed")
			}
		})
	}
}

func TestBoltInUse(t *testing.T) {
	dir := t.TempDir()
	kvtest.OpenBolt(t, dir, kv.Options{})
	if _, err := kv.OpenBolt(dir, kv.Options{}); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("got %v", err)
	}
}

func TestBoltClosed(t *testing.T) {
	e, err := kv.OpenBolt(t.TempDir(), kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	err = e.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "a", Token: 1}}, kv.Op{Kind: kv.OpWrite, Key: "a"})
	if !errors.Is(err, kv.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	for range 3 { // it must not open the file again
		if _, err := e.Raise(t.Context(), 5); !errors.Is(err, kv.ErrClosed) {
			t.Errorf("raise: got %v, want ErrClosed", err)
		}
	}
}

// TestBoltLongKey: it is refused before it could spoil a transaction that others
// share.
func TestBoltLongKey(t *testing.T) {
	e := kvtest.OpenBolt(t, t.TempDir(), kv.Options{})
	req := kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 1}}
	long := strings.Repeat("k", bbolt.MaxKeySize+1)
	if err := e.Write(t.Context(), req, kv.Op{Kind: kv.OpWrite, Key: "a"}, kv.Op{Kind: kv.OpWrite, Key: long}); err == nil {
		t.Error("a key over the engine's limit was taken")
	}
	if _, err := e.Read(t.Context(), kv.Request{}, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("half the batch was done: %v", err)
	}
}

// TestBoltSharesTransactions: writers that come together share commits, or each
// would wait for a sync of its own.
func TestBoltSharesTransactions(t *testing.T) {
	dir := t.TempDir()
	var commits atomic.Int64
	e := kvtest.OpenBolt(t, dir, kv.Options{Committed: func(kv.Commit) { commits.Add(1) }})
	const writers, each = 64, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				c := fence.Claim{Scope: fmt.Sprint("/lock/", w), Token: fence.Token(i + 1)}
				err := e.Write(t.Context(), kv.Request{Claim: c}, kv.Op{Kind: kv.OpWrite, Key: fmt.Sprint(w), Value: fmt.Sprint(i)})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := commits.Load(); n >= writers*each/2 {
		t.Errorf("%d writes took %d commits, want them to share", writers*each, n)
	}
}
