// Package postgrestest is for tests on PostgreSQL.
package postgrestest

import (
	"testing"

	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Need leaves a test out where there is no PostgreSQL. The purpose is as in need.Program.
func Need(t testing.TB, purpose string) {
	t.Helper()
	if postgresproc.Program() == "" {
		need.Program(t, "postgres", purpose)
	}
}

// NeedPooler leaves a test out where there is no pooler, or no PostgreSQL behind it.
func NeedPooler(t testing.TB) {
	t.Helper()
	Need(t, "to stand behind a pooler")
	if postgresproc.PoolerProgram() == "" {
		need.Program(t, "pgbouncer", "to stand before a server")
	}
}
