package main

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/need"
)

// TestEachDatabase: in each of them both ways to lock exclude; see wantExclusive.
func TestEachDatabase(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			program := d.program()
			if program == "" {
				need.Missing(t, d.name, "to lock in it", d.missing)
			}
			driver, source, err := d.source(startBench(t), program)
			if err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(driver, source)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			ours, err := bySQLLock(d, db)
			if err != nil {
				t.Fatal(err)
			}
			bare, err := byStatements(d, db, "/lock")
			if err != nil {
				t.Fatal(err)
			}
			wantExclusive(t, ours, ours, "/lock")
			wantExclusive(t, bare, bare, "/lock")
		})
	}
}

// TestWithoutDatabases: where there is no server the report says so.
func TestWithoutDatabases(t *testing.T) {
	was := databases
	defer func() { databases = was }()
	gone := *databases[0]
	gone.program = func() string { return "" }
	databases = []*database{&gone}
	b := startBench(t)
	if err := b.inDatabases(); err != nil {
		t.Fatal(err)
	}
	if text := b.report.markdown(); !strings.Contains(text, gone.missing) {
		t.Errorf("the report is\n%s", text)
	}
}
