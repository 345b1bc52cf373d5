package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/postgres"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// program leaves a test out where there is no PostgreSQL.
func program(t *testing.T, why string) string {
	t.Helper()
	p := postgresproc.Program()
	if p == "" {
		need.Program(t, "postgres", why)
	}
	return p
}

// beside leaves out a test of a variant that needs another program beside postgres, where there is none.
func beside(t *testing.T, v *scenario.Variant) {
	t.Helper()
	switch lacks := postgres.Service().Lacks(v); {
	case strings.HasPrefix(lacks, "pgbouncer"):
		need.Program(t, "pgbouncer", "to stand between clients and server")
	case lacks != "":
		need.Program(t, "pg_basebackup", "to copy a server for its standby")
	}
}

// TestStories tells them on one server where nothing is done to it, but for those with clients in
// Java, which take long.
func TestStories(t *testing.T) {
	program(t, "to tell the stories on")
	shared := labtest.Share(t)
	stories := labtest.InGo(services[0], labtest.Stories(t, services[0]))
	labtest.Each(t, stories, func(t *testing.T, s *scenario.Scenario, v *scenario.Variant) {
		beside(t, v)
		labtest.Run(t, s, v, lab.Options{Services: services, Shared: shared})
	})
}

// started is a server with some settings. It ends with the test.
func started(t *testing.T, settings ...string) *postgresproc.Server {
	t.Helper()
	s, err := postgresproc.Start(t.Context(), proctest.Group(t), program(t, "to be there already"), settings...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// at is the service where a user says that it is.
func at(t *testing.T, where string) (*service.Service, []string) {
	t.Helper()
	s, endpoints, err := postgres.Service().At(where)
	if err != nil {
		t.Fatal(err)
	}
	return s, endpoints
}

// left are the databases and slots of a server that are none of its own.
func left(t *testing.T, s *postgresproc.Server) (names []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), "SELECT datname FROM pg_database WHERE datname NOT IN ('postgres', 'template0', 'template1') "+
		"UNION ALL SELECT slot_name FROM pg_replication_slots UNION ALL SELECT relname FROM pg_class WHERE relname LIKE '%\\_lock'")
	if err != nil {
		t.Fatal(err)
	}
	names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestPostgresThatIsThere: a run uses it in a database of its own, and leaves nothing in it.
func TestPostgresThatIsThere(t *testing.T) {
	server := started(t, "wal_level=logical")
	of, endpoints := at(t, server.URL())
	if err := of.Reach(t.Context(), endpoints); err != nil {
		t.Fatal(err)
	}
	for _, s := range services.Parse(t, "testdata/queue.yaml") {
		for i := range s.Variants {
			events := labtest.Run(t, s, &s.Variants[i], lab.Options{Services: []*service.Service{of}, Endpoints: endpoints})
			for _, e := range events {
				if e.Kind == history.KindGranted && !strings.HasPrefix(e.Scope, "/gcsim-") {
					t.Errorf("%+v: its lock has no prefix of the run", e)
				}
			}
		}
	}
	if names := left(t, server); len(names) > 0 {
		t.Errorf("the runs have left %q", names)
	}
}

// TestReachRefuses: a server of which runs can have no account, and says what it lacks.
func TestReachRefuses(t *testing.T) {
	server := started(t)
	of, endpoints := at(t, server.URL())
	if err := of.Reach(t.Context(), endpoints); err == nil || !strings.Contains(err.Error(), "wal_level = logical") {
		t.Errorf("without logical decoding: %v", err)
	}
	logical := started(t, "wal_level=logical")
	conn, err := pgx.Connect(t.Context(), logical.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE ROLE plain LOGIN"); err != nil {
		t.Fatal(err)
	}
	of, endpoints = at(t, strings.Replace(logical.URL(), "postgres@", "plain@", 1))
	if err := of.Reach(t.Context(), endpoints); err == nil || !strings.Contains(err.Error(), "CREATEDB REPLICATION") {
		t.Errorf("as a user without rights: %v", err)
	}
}

// TestAtRefuses: what is no place, and says what is.
func TestAtRefuses(t *testing.T) {
	for _, where := range []string{"127.0.0.1:5432", "http://127.0.0.1:5432", "postgres:///db", "postgres://h:p/%zz"} {
		if _, _, err := postgres.Service().At(where); err == nil || !strings.Contains(err.Error(), "want the URL of one that is there already") {
			t.Errorf("%s: %v", where, err)
		}
	}
}
