package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/tools/need"
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
