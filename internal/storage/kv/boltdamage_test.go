package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
)

// damagedItems are in the file that is then damaged: enough for several levels
// of pages, and for pages that were freed.
const damagedItems = 600

func damagedKey(i int) string   { return fmt.Sprintf("key%04d", i) }
func damagedValue(i int) string { return strings.Repeat(fmt.Sprint(i, "."), 1+i%40) }

// wholeFile makes a file with these items, and returns its content and how many
// bytes of it are in use at the most.
func wholeFile(t *testing.T) (content []byte, used int) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, kvtest.BoltFile)
	e, err := kv.OpenBolt(dir, kv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range damagedItems {
		wg.Go(func() {
			write(t, e, fence.Claim{Scope: damagedKey(i), Token: 1}, damagedKey(i), "first")
			write(t, e, fence.Claim{Scope: damagedKey(i), Token: 2}, damagedKey(i), damagedValue(i))
		})
	}
	wg.Wait()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		used = int(tx.Size())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return content, used
}

// TestBoltDamagedFile: a file that was cut off, or has a page of something else,
// is refused and left as it is, or all that it serves is right.
func TestBoltDamagedFile(t *testing.T) {
	seeds := uint64(40)
	if need.Long() {
		seeds = 200
	}
	whole, used := wholeFile(t)
	page := os.Getpagesize()
	var refused, served int
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 0))
		b := bytes.Clone(whole)
		at := r.IntN(used / page)
		how := ""
		switch seed % 4 {
		case 0:
			how = fmt.Sprint("cut off before page ", at)
			b = b[:at*page]
		case 1:
			n := r.IntN(used)
			how = fmt.Sprintf("cut off at byte %d", n)
			b = b[:n]
		case 2:
			how = fmt.Sprintf("page %d is garbage", at)
			for i := range page {
				b[at*page+i] = byte(r.Uint32())
			}
		case 3:
			how = fmt.Sprintf("page %d is another one", at)
			other := r.IntN(used / page)
			copy(b[at*page:(at+1)*page], whole[other*page:])
		}
		dir := t.TempDir()
		path := filepath.Join(dir, kvtest.BoltFile)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := kv.OpenBolt(dir, kv.Options{})
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), path) {
				t.Errorf("seed %d: %s: the error does not name the file: %v", seed, how, err)
			}
			if now, _ := os.ReadFile(path); !bytes.Equal(now, b) {
				t.Errorf("seed %d: %s: refused, and changed", seed, how)
			}
			continue
		}
		served++
		if len(b) < used {
			t.Errorf("seed %d: %s, and opened", seed, how)
		}
		for i := range damagedItems {
			checkDamaged(t, e, i, fmt.Sprintf("seed %d: %s", seed, how))
		}
		key := damagedKey(r.IntN(damagedItems))
		req := kv.Request{Claim: fence.Claim{Scope: key, Token: 3}}
		if err := e.Write(t.Context(), req, kv.Op{Kind: kv.OpWrite, Key: key, Value: "new"}); err == nil {
			if item, err := e.Read(t.Context(), kv.Request{}, key); err != nil || item.Value != "new" {
				t.Errorf("seed %d: %s: read after a write: %+v, %v", seed, how, item, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Errorf("seed %d: %s: close: %v", seed, how, err)
		}
	}
	t.Logf("%d refused, %d opened", refused, served)
	if refused == 0 || served == 0 {
		t.Error("the damage was of one kind only")
	}
}

// checkDamaged: item and mark are those of wholeFile.
func checkDamaged(t *testing.T, e kv.Engine, i int, how string) {
	t.Helper()
	key := damagedKey(i)
	if item, err := e.Read(t.Context(), kv.Request{}, key); err != nil || item != (kv.Item{Value: damagedValue(i), Token: 2}) {
		t.Errorf("%s: %s is %.20q of token %d, %v", how, key, item.Value, item.Token, err)
	}
	if m, err := e.Mark(t.Context(), key); err != nil || m != (fence.Mark{Token: 2}) {
		t.Errorf("%s: the mark of %s is %+v, %v", how, key, m, err)
	}
}

// TestBoltFailsAlone: what is damaged while the file is open fails those that ask for it,
// and nobody who shares their transaction.
func TestBoltFailsAlone(t *testing.T) {
	dir := t.TempDir()
	var records []kv.Line
	var commits atomic.Int64
	e := kvtest.OpenBolt(t, dir, kv.Options{
		Observe:   func(r kv.Line) { records = append(records, r) },
		Committed: func(kv.Commit) { commits.Add(1) },
	})
	const value = "a value that is found in the file"
	write(t, e, fence.Claim{Scope: "short", Token: 1}, "short", value)
	records = nil
	flipBehind(t, filepath.Join(dir, kvtest.BoltFile), value[:10])
	flipBehind(t, filepath.Join(dir, kvtest.BoltFile), "short\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00")
	const each = 50
	var wg sync.WaitGroup
	for i := range each {
		claim := fence.Claim{Scope: fmt.Sprint("good", i), Token: 1}
		wg.Go(func() { write(t, e, claim, claim.Scope, "x") })
		wg.Go(func() {
			req := kv.Request{Claim: fence.Claim{Scope: "short", Token: 1}}
			err := e.Write(t.Context(), req, kv.Op{Kind: kv.OpWrite, Key: fmt.Sprint("bad", i)})
			if err == nil || !strings.Contains(err.Error(), `the mark of "short"`) {
				t.Errorf("a write under a damaged mark: %v", err)
			}
		})
		wg.Go(func() {
			_, err := e.Read(t.Context(), kv.Request{Claim: fence.Claim{Scope: fmt.Sprint("reader", i), Token: 1}}, "short")
			if err == nil || !strings.Contains(err.Error(), `the item "short"`) {
				t.Errorf("a read of a damaged item: %v", err)
			}
			if m, err := e.Mark(t.Context(), fmt.Sprint("reader", i)); err != nil || m.Token != 0 {
				t.Errorf("a read that failed raised its mark: %+v, %v", m, err)
			}
		})
	}
	wg.Wait()
	if n := commits.Load(); n >= each {
		t.Errorf("%d writes took %d commits: none shared one with what failed", each, n)
	}
	if len(records) != each {
		t.Errorf("the observer was told of %d operations, %d took place", len(records), each)
	}
	for i := range each {
		if item, err := e.Read(t.Context(), kv.Request{}, fmt.Sprint("good", i)); err != nil || item.Value != "x" {
			t.Errorf("good%d: %+v, %v", i, item, err)
		}
		if _, err := e.Read(t.Context(), kv.Request{}, fmt.Sprint("bad", i)); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("bad%d: %v", i, err)
		}
	}
}

// flipBehind changes the byte behind each place in a file that has the text.
func flipBehind(t *testing.T, path, text string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	found := false
	for at := 0; ; found = true {
		next := bytes.Index(b[at:], []byte(text))
		if next < 0 {
			break
		}
		at += next + len(text)
		if _, err := file.WriteAt([]byte{b[at] ^ 1}, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("%q is nowhere in the file", text)
	}
}

// TestBoltLostTransaction: where the newest meta page is damaged, bbolt takes
// the one before, and would serve a mark that is too low.
func TestBoltLostTransaction(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, kvtest.BoltFile)
	for token := fence.Token(1); token <= 2; token++ {
		e, err := kv.OpenBolt(dir, kv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, e, fence.Claim{Scope: "/lock", Token: token}, "a", "x")
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for i := range 4 {
		b := bytes.Clone(whole)
		if i < 2 {
			b[i*page+64] ^= 1 // in its transaction's number
		} else {
			copy(b[(i-2)*page:][:page], whole[(3-i)*page:][:page]) // with the other
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := kv.OpenBolt(dir, kv.Options{})
		if err == nil {
			t.Errorf("a file with meta page %d damaged was opened", i%2)
			e.Close()
		} else if !strings.Contains(err.Error(), "meta page") || !strings.Contains(err.Error(), "restore a backup") {
			t.Error(err)
		}
	}
}

// TestBoltCutOffWhileOpen: somebody makes the file shorter while it is mapped.
// What is behind its end then is an error, not the end of the process.
func TestBoltCutOffWhileOpen(t *testing.T) {
	whole, _ := wholeFile(t)
	dir := t.TempDir()
	path := filepath.Join(dir, kvtest.BoltFile)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	e := kvtest.OpenBolt(t, dir, kv.Options{})
	if err := os.Truncate(path, 4*int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for i := range damagedItems {
		item, err := e.Read(t.Context(), kv.Request{}, damagedKey(i))
		if err != nil {
			failed++
		}
		if err == nil && item.Value != damagedValue(i) || errors.Is(err, kv.ErrNotFound) {
			t.Errorf("%s: %+v, %v", damagedKey(i), item, err)
		}
	}
	if failed == 0 {
		t.Error("all was read from a file that is cut off")
	}
	req := kv.Request{Claim: fence.Claim{Scope: "/lock", Token: 1}}
	if err := e.Write(t.Context(), req, kv.Op{Kind: kv.OpWrite, Key: damagedKey(0)}); err == nil {
		t.Error("a write to a file that is cut off")
	}
}

// TestBoltCutOff: a file that is too short is refused before a page behind its
// end is asked for.
func TestBoltCutOff(t *testing.T) {
	whole, used := wholeFile(t)
	dir := t.TempDir()
	path := filepath.Join(dir, kvtest.BoltFile)
	for n := 2 * os.Getpagesize(); n < used; n += os.Getpagesize() - 1 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := kv.OpenBolt(dir, kv.Options{})
		if err == nil {
			e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "its end is missing") {
			t.Errorf("%d bytes of %d in use: %v", n, used, err)
		}
	}
}
