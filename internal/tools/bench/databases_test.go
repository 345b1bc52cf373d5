package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// TestEachDatabase: in each of them both ways to lock exclude; see wantExclusive.
func TestEachDatabase(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			b := startBench(t)
			var s *server
			err := fail.Caught(func() { s = b.launch(d.start) })
			var lack missing
			if errors.As(err, &lack) {
				need.Missing(t, d.name, "to lock in it", string(lack))
			}
			if err != nil {
				t.Fatal(err)
			}
			wantExclusiveWay(t, way{"sqllock", d.bySQLLock(), s, true, lockTTL}, "/lock")
			wantExclusiveWay(t, way{"bare", d.byStatements(), s, true, lockTTL}, "/lock")
		})
	}
}

// TestListening: who waits is told by PostgreSQL that the lock is free.
func TestListening(t *testing.T) {
	d, b := databases[0], startBench(t)
	err := fail.Caught(func() {
		s := b.launch(d.start)
		p := way{open: d.bySQLLock(sqllock.Poll(time.Hour), sqllock.Notify(listening(s.addr))), server: s, shared: true, ttl: lockTTL}.gather(3)
		defer p.close()
		if took, _ := relay(p.locks, nil, 100*time.Millisecond); len(took) == 0 {
			t.Error("the lock was not handed over")
		}
	})
	var lack missing
	if errors.As(err, &lack) {
		need.Missing(t, d.name, "to listen in it", string(lack))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWithoutDatabases: where there is no server the report says so.
func TestWithoutDatabases(t *testing.T) {
	was := databases
	defer func() { databases = was }()
	gone := *databases[0]
	const lacks = "postgres is gone (bring it back)"
	gone.open = func(context.Context, *bench) (string, string) {
		return there("", "postgres is gone", "bring it back"), ""
	}
	databases = []*database{&gone}
	b := startBench(t)
	measure(t, b, "databases")
	if text := b.report.markdown(); !strings.Contains(text, "\n### Locks and fenced writes in PostgreSQL\n\nNot measured: "+lacks+".\n") {
		t.Errorf("the report is\n%s", text)
	}
}
