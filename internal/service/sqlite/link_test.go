package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/sqlite"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
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
	if err := hurried.Hurry(ctx, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := hurried.BeginImmediate(ctx); f.Answer(err) != sqlservice.GaveUp {
		t.Errorf("it has waited for a millisecond: %v", err)
	}
	canceled := connected(t, f)
	canceled.Cancel(ctx)
	if err := canceled.BeginImmediate(ctx); f.Answer(err) != sqlservice.Canceled {
		t.Errorf("its wait was cancelled: %v", err)
	}
	if waits, err := canceled.Waits(ctx, nil); !waits || err != nil {
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
	t.Cleanup(l.HangUp)
	if err := l.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l.(*sqlite.Link)
}
