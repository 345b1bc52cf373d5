package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kv/kvtest"
	"github.com/fencelab/fencelab/pkg/fence"
)

// fill gives an engine values and marks of every kind.
func fill(t *testing.T, e kv.Engine) {
	t.Helper()
	write(t, e, fence.Claim{Scope: "/lock", Token: 34, Sequence: 7}, "a", "text")
	write(t, e, fence.Claim{Scope: "/lock", Token: 34, Sequence: 8}, "any bytes \x00\xff", string([]byte{0, 255, 10}))
	write(t, e, fence.Claim{Scope: "/other \"lock\"", Token: 1<<63 - 1}, "empty", "")
	write(t, e, fence.Claim{Scope: "/low", Token: 3}, "low", "low")
	write(t, e, fence.Claim{Scope: "/gone", Token: 40}, "gone", "x")
	if err := e.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/gone", Token: 40}}, kv.Op{Kind: kv.OpDelete, Key: "gone"}); err != nil {
		t.Fatal(err)
	}
	read := func(scope string, token fence.Token) {
		t.Helper()
		if _, err := e.Read(t.Context(), kv.Request{Claim: fence.Claim{Scope: scope, Token: token, Mode: fence.Shared}}, "a"); err != nil {
			t.Fatal(err)
		}
	}
	read("/lock", 36)
	read("/readers", 41)
	if n, err := e.Raise(t.Context(), 5); err != nil || n != 1 {
		t.Fatalf("raise: dropped %d, %v, want 1", n, err)
	}
}

func snapshot(t *testing.T, e kv.Engine) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := kv.WriteSnapshot(t.Context(), e, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entries are those of an engine, in an order of their own.
func entries(t *testing.T, e kv.Engine) []string {
	t.Helper()
	var all []string
	for entry, err := range kv.ReadSnapshot(bytes.NewReader(snapshot(t, e))) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %q %d %d %q", entry.Kind, entry.Name, entry.Token, entry.Sequence, entry.Value))
	}
	slices.Sort(all)
	return all
}

// restorer is e, where it takes a snapshot back.
func restorer(t *testing.T, e kv.Engine) kv.Restorer {
	t.Helper()
	r, ok := e.(kv.Restorer)
	if !ok {
		if _, memory := e.(*kv.Memory); !memory {
			t.Fatalf("%T takes no snapshot back", e)
		}
		t.Skip("the engine takes no snapshot back")
	}
	return r
}

// intoFull skips engines that take a snapshot only where they are empty, and holds
// them to it.
func intoFull(t *testing.T, r kv.Restorer) {
	t.Helper()
	if _, ok := r.(*kv.Etcd); ok {
		fill(t, r)
		before := entries(t, r)
		if err := r.Restore(t.Context(), kv.ReadSnapshot(bytes.NewReader(snapshot(t, r)))); !errors.Is(err, kv.ErrNotEmpty) {
			t.Errorf("got %v, want ErrNotEmpty", err)
		}
		if after := entries(t, r); !slices.Equal(before, after) {
			t.Errorf("it changed what was there: %q", after)
		}
		t.Skip("it takes a snapshot only where it is empty")
	}
}

// TestSnapshotComesBack: of every engine, into every engine that takes one.
func TestSnapshotComesBack(t *testing.T) {
	t.Parallel()
	for _, from := range kvtest.Kinds {
		e := from.Open(t, kv.Options{})
		fill(t, e)
		want := entries(t, e)
		for _, into := range kvtest.Kinds {
			t.Run(from.Name+" into "+into.Name, func(t *testing.T) {
				r := restorer(t, into.Open(t, kv.Options{}))
				if err := r.Restore(t.Context(), kv.ReadSnapshot(bytes.NewReader(snapshot(t, e)))); err != nil {
					t.Fatal(err)
				}
				if got := entries(t, r); !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				for scope, token := range map[string]fence.Token{"/lock": 35, "/gone": 39, "/low": 4, "/new": 4, "/readers": 40} {
					err := r.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: scope, Token: token}}, kv.Op{Kind: kv.OpWrite, Key: "a"})
					if !errors.Is(err, fence.ErrStale) {
						t.Errorf("%s with token %d: %v, want ErrStale", scope, token, err)
					}
				}
				for scope, token := range map[string]fence.Token{"/lock": 34, "/readers": 5} {
					if _, err := r.Read(t.Context(), kv.Request{Claim: fence.Claim{Scope: scope, Token: token, Mode: fence.Shared}}, "a"); err != nil {
						t.Errorf("%s, shared with token %d: %v", scope, token, err)
					}
				}
				was, _ := e.Stats(t.Context())
				if was.Bytes < 0 {
					was.Bytes = int64(len("a"+"text") + len("any bytes \x00\xff") + 3 + len("empty") + len("low"+"low"))
				}
				is, err := r.Stats(t.Context())
				if is.Bytes < 0 {
					is.Bytes = was.Bytes
				}
				marks := int64(4)
				if into.Name == "etcd" {
					marks++ // of the scope with both modes
				}
				if err != nil || is.Keys != was.Keys || is.Bytes != was.Bytes || is.Marks != marks {
					t.Errorf("stats %+v, %v, want %+v with %d marks", is, err, was, marks)
				}
			})
		}
	}
}

// TestRestoreLowersNoMark: what was admitted after the snapshot is fenced by its
// mark, though its value is gone.
func TestRestoreLowersNoMark(t *testing.T) {
	for _, k := range kvtest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			r := restorer(t, k.Open(t, kv.Options{}))
			intoFull(t, r)
			fill(t, r)
			old := snapshot(t, r)
			write(t, r, fence.Claim{Scope: "/lock", Token: 50, Sequence: 2}, "a", "later")
			write(t, r, fence.Claim{Scope: "/later", Token: 60}, "b", "later")
			write(t, r, fence.Claim{Scope: "/readers", Token: 42, Mode: fence.Shared}, "b", "later")
			if _, err := r.Raise(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			if err := r.Restore(t.Context(), kv.ReadSnapshot(bytes.NewReader(old))); err != nil {
				t.Fatal(err)
			}
			for scope, want := range map[string]fence.Mark{"/lock": {Token: 50, Sequence: 2}, "/later": {Token: 60}, "/gone": {Token: 40}, "/never": {Token: 10}, "/readers": {Token: 10, Shared: 42}} {
				if m, err := r.Mark(t.Context(), scope); err != nil || m != want {
					t.Errorf("mark of %s: %+v, %v, want %+v", scope, m, err, want)
				}
			}
			if item, err := r.Read(t.Context(), kv.Request{}, "a"); err != nil || item.Value != "text" {
				t.Errorf("a: %+v, %v, want the snapshot's", item, err)
			}
			if _, err := r.Read(t.Context(), kv.Request{}, "b"); !errors.Is(err, kv.ErrNotFound) {
				t.Errorf("b: %v, want it gone", err)
			}
		})
	}
}

// TestDamagedSnapshot: whatever is cut off or changed, restore refuses it and
// leaves everything as it was.
func TestDamagedSnapshot(t *testing.T) {
	source := kv.NewMemory(kv.Options{})
	fill(t, source)
	whole := string(snapshot(t, source))
	lines := strings.SplitAfter(whole, "\n")
	bad := map[string]string{
		"empty":             "",
		"another file":      "this is text\n",
		"another format":    strings.Replace(whole, "fencelab snapshot", "some snapshot", 1),
		"a newer version":   strings.Replace(whole, `"version":1`, `"version":2`, 1),
		"no end":            strings.Join(lines[:len(lines)-2], ""),
		"a line less":       lines[0] + strings.Join(lines[2:], ""),
		"a line more":       lines[0] + lines[1] + strings.Join(lines[1:], ""),
		"more after it":     whole + lines[1],
		"a changed token":   strings.Replace(whole, `"token":"34"`, `"token":"35"`, 1),
		"an unknown kind":   strings.Replace(whole, `"kind":"item"`, `"kind":"thing"`, 1),
		"a negative token":  strings.Replace(whole, `"token":"40"`, `"token":"-4"`, 1),
		"no shared token":   strings.Replace(whole, `"token":"36"`, `"token":"0"`, 1),
		"half a line":       whole[:len(whole)/2],
		"without last byte": whole[:len(whole)-2],
	}
	for _, k := range kvtest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			r := restorer(t, k.Open(t, kv.Options{}))
			if _, ok := r.(*kv.Etcd); !ok {
				write(t, r, fence.Claim{Scope: "/mine", Token: 9}, "mine", "stays")
			}
			before := entries(t, r)
			for name, text := range bad {
				err := r.Restore(t.Context(), kv.ReadSnapshot(strings.NewReader(text)))
				if err == nil || !strings.Contains(err.Error(), "snapshot, line ") {
					t.Errorf("%s: got %v, want an error that names the line", name, err)
				}
				if after := entries(t, r); !slices.Equal(before, after) {
					t.Fatalf("%s: it changed what was there: %q", name, after)
				}
			}
		})
	}
}

// TestSnapshotIsOfOneMoment: beside writers, each of which writes one token to two
// keys, every snapshot has the two equal, and the mark with them.
func TestSnapshotIsOfOneMoment(t *testing.T) {
	t.Parallel()
	for _, k := range kvtest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			e := k.Open(t, kv.Options{})
			for i := range 50 { // so that a snapshot takes its time
				var many []kv.Op
				for j := range 100 {
					many = append(many, kv.Op{Kind: kv.OpWrite, Key: fmt.Sprint("other", i, "/", j)})
				}
				if err := e.Write(t.Context(), kv.Request{Claim: fence.Claim{Scope: "/other", Token: 1}}, many...); err != nil {
					t.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			written := make(chan struct{})
			const writers = 4
			for w := range writers {
				scope := fmt.Sprint("/lock/", w)
				wg.Go(func() {
					for n := fence.Token(1); ctx.Err() == nil; n++ {
						err := e.Write(context.WithoutCancel(ctx), kv.Request{Claim: fence.Claim{Scope: scope, Token: n, Sequence: int64(n)}},
							kv.Op{Kind: kv.OpWrite, Key: scope + "/a", Value: n.String()}, kv.Op{Kind: kv.OpWrite, Key: scope + "/b", Value: n.String()})
						if err != nil {
							t.Error(err)
							return
						}
						select {
						case written <- struct{}{}:
						default:
						}
					}
				})
			}
			for range 25 {
				<-written
				marks, items := map[string]kv.Entry{}, map[string]kv.Entry{}
				err := e.Snapshot(t.Context(), func(entry kv.Entry) error {
					switch entry.Kind {
					case kv.EntryMark:
						marks[string(entry.Name)] = entry
					case kv.EntryItem:
						items[string(entry.Name)] = entry
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				delete(marks, "/other")
				for scope, m := range marks {
					a, b := items[scope+"/a"], items[scope+"/b"]
					if a.Token != m.Token || b.Token != m.Token || string(a.Value) != m.Token.String() || m.Sequence != int64(m.Token) {
						t.Errorf("mark %+v with %q of %d and %q of %d", m, a.Value, a.Token, b.Value, b.Token)
					}
				}
			}
			stop()
			wg.Wait()
		})
	}
}

// TestStatsCount compares what an engine says it holds with what its snapshot has,
// after random changes.
func TestStatsCount(t *testing.T) {
	for _, k := range kvtest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			e := k.Open(t, kv.Options{})
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range 200 {
				var ops []kv.Op
				for range 1 + rnd.IntN(4) {
					op := kv.Op{Kind: kv.OpWrite, Key: fmt.Sprint(rnd.IntN(10)), Value: strings.Repeat("v", rnd.IntN(5))}
					if rnd.IntN(3) == 0 {
						op = kv.Op{Kind: kv.OpDelete, Key: op.Key}
					}
					ops = append(ops, op)
				}
				c := fence.Claim{Scope: fmt.Sprint("/", rnd.IntN(5)), Token: fence.Token(i + 1)}
				if err := e.Write(t.Context(), kv.Request{Claim: c}, ops...); err != nil {
					t.Fatal(err)
				}
			}
			want := kv.Stats{}
			if err := e.Snapshot(t.Context(), func(entry kv.Entry) error {
				switch entry.Kind {
				case kv.EntryMark:
					want.Marks++
				case kv.EntryItem:
					want.Keys++
					want.Bytes += int64(len(entry.Name) + len(entry.Value))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			got, err := e.Stats(t.Context())
			if got.Disk = 0; got.Bytes < 0 {
				want.Bytes = got.Bytes // it cannot tell
			}
			if err != nil || got != want {
				t.Errorf("stats %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

// TestSnapshotStops: an error of whoever receives it ends it, and is told.
func TestSnapshotStops(t *testing.T) {
	for _, k := range kvtest.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			e := k.Open(t, kv.Options{})
			fill(t, e)
			full := errors.New("the pipe is broken")
			for stop := range 5 {
				n := 0
				err := e.Snapshot(t.Context(), func(kv.Entry) error {
					if n++; n > stop {
						return full
					}
					return nil
				})
				if !errors.Is(err, full) || n != stop+1 {
					t.Errorf("after %d: %v, and %d entries", stop, err, n)
				}
			}
		})
	}
}
