package lockfile_test

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service/lockfile"
)

// listener is a run that only listens to an account.
type listener struct {
	mu     sync.Mutex
	events []history.Event
	heard  chan struct{} // gets something with each event
}

func (l *listener) Tell(events ...history.Event) {
	l.mu.Lock()
	l.events = append(l.events, events...)
	l.mu.Unlock()
	l.heard <- struct{}{}
}

func (l *listener) Fail(*proc.Process, error) {}

// await waits for so many events.
func (l *listener) await(t *testing.T, n int) []history.Event {
	t.Helper()
	for range n {
		select {
		case <-l.heard:
		case <-time.After(2 * time.Minute):
			t.Fatal("the account has nothing to tell")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events
}

func listening(t *testing.T) (l *listener, dir string, follow func() error) {
	t.Helper()
	l, dir = &listener{heard: make(chan struct{}, 100)}, t.TempDir()
	follow, err := lockfile.Watch(l, dir)
	if err != nil {
		t.Fatal(err)
	}
	return l, dir, follow
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestAccount: a tenure ends when its file is removed, or when nobody has touched the file for the
// TTL; and who touches it later is not told of again.
func TestAccount(t *testing.T) {
	t.Parallel()
	l, dir, follow := listening(t)
	go follow()
	fresh, stale := lockfile.FileOf(dir, "/a", ".lock"), lockfile.FileOf(dir, "/b", ".lock")
	write(t, fresh, "first 1m0s\n")
	l.await(t, 1)
	remove(t, fresh)
	l.await(t, 1)
	write(t, stale, "second 3s\n")
	l.await(t, 1)
	touched := time.Now().Add(500 * time.Millisecond)
	if err := os.Chtimes(stale, touched, touched); err != nil {
		t.Fatal(err)
	}
	l.await(t, 1)
	if over := time.Now(); over.Before(touched.Add(3 * time.Second)) {
		t.Errorf("the second tenure has ended %v after its file was touched, and had 3 s then", over.Sub(touched))
	}
	write(t, stale, "second 3s\n")
	remove(t, stale)
	write(t, fresh, "third 1m0s\n")
	events := l.await(t, 1)
	want := []history.Event{
		{Kind: history.KindGranted, Scope: "/a", Tenure: "first"},
		{Kind: history.KindEnded, Scope: "/a", Tenure: "first", Cause: history.CauseRevoked, Text: "its lock file was removed"},
		{Kind: history.KindGranted, Scope: "/b", Tenure: "second"},
		{Kind: history.KindEnded, Scope: "/b", Tenure: "second"},
		{Kind: history.KindGranted, Scope: "/a", Tenure: "third"},
	}
	for i, e := range events {
		e.At, e.Lane = 0, ""
		if i >= len(want) || !equal(e, want[i]) {
			t.Errorf("event %d is %+v, want one of %+v", i, e, want)
		}
	}
}

func equal(a, b history.Event) bool {
	return a.Kind == b.Kind && a.Scope == b.Scope && a.Tenure == b.Tenure && a.Cause == b.Cause && a.Text == b.Text
}

// TestAccountNeedsNoHurry: tenures that were over before the account looked are told of, if their
// clients have released them.
func TestAccountNeedsNoHurry(t *testing.T) {
	t.Parallel()
	l, dir, follow := listening(t)
	c := dial(t, dir, nil)
	var owners []string
	for range 3 {
		held, err := c.TryLock(t.Context(), "/lock", "")
		if err != nil {
			t.Fatal(err)
		}
		owners = append(owners, held.Name())
		if len(owners) < 3 {
			if err := held.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	go follow()
	var told []string
	for _, e := range l.await(t, 5) {
		told = append(told, string(e.Kind)+" "+e.Tenure)
	}
	a, b, c3 := owners[0], owners[1], owners[2]
	if want := []string{"granted " + a, "ended " + a, "granted " + b, "ended " + b, "granted " + c3}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
}

// TestAccountMissesNothingUnsaid: a tenure of which nobody can say whose it was is an error, and
// is not taken for that of another.
func TestAccountMissesNothingUnsaid(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(t *testing.T, path string){
		"gone": func(t *testing.T, path string) {
			write(t, path, "a 1m0s\n")
			remove(t, path)
		},
		"another in its place": func(t *testing.T, path string) {
			write(t, path, "a 1m0s\n")
			remove(t, path)
			write(t, path, "b 1m0s\n")
		},
		"nobody's": func(t *testing.T, path string) {
			write(t, path, "")
			go func() { time.Sleep(100 * time.Millisecond); _ = os.Remove(path) }()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dir, follow := listening(t)
			happens(t, lockfile.FileOf(dir, "/lock", ".lock"))
			if err := follow(); err == nil || !strings.Contains(err.Error(), "nobody knows whose tenure that was: the lock file") || len(l.events) > 0 {
				t.Errorf("got error %v, events %+v", err, l.events)
			}
		})
	}
}

// TestAccountRefuses: what no client writes, and what the kernel could not tell.
func TestAccountRefuses(t *testing.T) {
	t.Parallel()
	_, dir, follow := listening(t)
	write(t, lockfile.FileOf(dir, "/lock", ".lock"), "1234\n")
	if err := follow(); err == nil || !strings.Contains(err.Error(), "want a name and a TTL") {
		t.Errorf("of what is no name and no TTL: %v", err)
	}
	overflow := make([]byte, 16)
	binary.NativeEndian.PutUint32(overflow[4:], 0x4000) // IN_Q_OVERFLOW
	if err := lockfile.Changes(overflow); err == nil || !strings.Contains(err.Error(), "has lost what it had to tell, or its directory: 0x4000") {
		t.Errorf("of a queue that was full: %v", err)
	}
}

// TestRaise: each has a number of its own, and what is no number is not counted on from.
func TestRaise(t *testing.T) {
	t.Parallel()
	path := lockfile.FileOf(t.TempDir(), "/lock", ".count")
	var mu sync.Mutex
	seen := make(map[int64]bool)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			n, err := lockfile.Raise(t.Context(), path)
			mu.Lock()
			defer mu.Unlock()
			if seen[int64(n)] || err != nil {
				t.Errorf("got %d, error %v", n, err)
			}
			seen[int64(n)] = true
		})
	}
	if all.Wait(); !seen[1] || !seen[12] {
		t.Errorf("got %v, want 1 to 12", seen)
	}
	write(t, path, "twelve\n")
	if _, err := lockfile.Raise(t.Context(), path); err == nil || !strings.Contains(err.Error(), "twelve") {
		t.Errorf("of what is no number: %v", err)
	}
}

// TestCountIsUnreadable: a client that gets no token does not keep the lock.
func TestCountIsUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, lockfile.FileOf(dir, "/lock", ".count"), "twelve\n")
	if _, err := dial(t, dir, nil).TryLock(t.Context(), "/lock", ""); err == nil || !strings.Contains(err.Error(), "twelve") {
		t.Errorf("got error %v", err)
	}
	if _, err := os.Stat(lockfile.FileOf(dir, "/lock", ".lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock file is still there (%v)", err)
	}
	other := dial(t, dir, setting.Values{setting.Token: "none"})
	if _, err := other.TryLock(t.Context(), "/lock", ""); err != nil {
		t.Errorf("without a token: %v", err)
	}
}
