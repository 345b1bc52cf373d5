package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/sqlite"
)

// TestWaitForTheFile: who waits for the file's lock is refused when its time is over, and stops
// when the wait is cancelled.
func TestWaitForTheFile(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	f := sqlite.File(filepath.Join(t.TempDir(), "locks.db"))
	if err := os.WriteFile(string(f), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := connected(t, f).BeginImmediate(ctx); err != nil {
		t.Fatal(err)
	}
	hurried := connected(t, f)
	if err := f.Hurry(ctx, hurried, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := hurried.BeginImmediate(ctx); !f.GaveUp(err) {
		t.Errorf("it has waited for a millisecond: %v", err)
	}
	canceled := connected(t, f)
	f.Cancel(ctx, canceled)
	if err := canceled.BeginImmediate(ctx); !f.Canceled(err) {
		t.Errorf("its wait was cancelled: %v", err)
	}
	if waits, err := f.Waits(ctx, nil, canceled); !waits || err != nil {
		t.Errorf("it has waited: %t, %v", waits, err)
	}
}

// connected is a connection that waits for the file's lock itself, and not by SQLite.
func connected(t *testing.T, f sqlite.File) *sqlite.Link {
	t.Helper()
	l, err := f.Connect(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.HangUp(l) })
	if err := f.Begin(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return l
}
