package mariadb_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/mariadb"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// program leaves a test out where there is no MariaDB.
func program(t *testing.T, why string) string {
	t.Helper()
	p := mariadbproc.Program()
	if p == "" {
		need.Program(t, "mariadbd", why)
	}
	return p
}

// TestStories tells them on one server where nothing is done to it, but for those with clients in
// Java, which take long.
func TestStories(t *testing.T) {
	program(t, "to tell the stories on")
	shared := labtest.Share(t)
	stories := labtest.InGo(services[0], labtest.Stories(t, services[0]))
	labtest.Tell(t, stories, lab.Options{Services: services, Shared: shared})
}

// TestDeadlock: of two clients that find no row of one lock, one gets the lock. MariaDB
// chooses which.
func TestDeadlock(t *testing.T) {
	program(t, "to end a deadlock")
	of := lab.Options{Services: services}
	want := map[string]int{"row-before": 3, "missing": 2}
	for _, s := range services.Parse(t, "testdata/deadlock/*.yaml") {
		for i := range s.Variants {
			granted := 0
			for _, e := range labtest.Run(t, s, &s.Variants[i], of) {
				if e.Kind == history.KindGranted {
					granted++
				}
			}
			if name := s.Variants[i].Name; granted != want[name] {
				t.Errorf("%s: %d clients got the lock, want %d", name, granted, want[name])
			}
		}
	}
}

// TestWaitAfterTry: to try for a lock is to wait for nothing. A request that comes after that
// waits for a row again, for lock-timeout.
func TestWaitAfterTry(t *testing.T) {
	program(t, "to lock a row")
	s := services.Parse(t, "testdata/trywait/*.yaml")[0]
	var asked, told time.Duration
	for _, e := range labtest.Run(t, s, &s.Variants[0], lab.Options{Services: services}) {
		switch {
		case e.Op != history.OpWrite || e.Value != "2" || e.Key != "a":
		case e.Kind == history.KindInvoke:
			asked = e.At
		case e.Kind == history.KindFail:
			told = e.At
		}
	}
	if waited := told - asked; waited < 900*time.Millisecond {
		t.Errorf("its write has waited for %v, want a second", waited)
	}
}

// TestWaitsBy: the status as MariaDB 10.11 writes it.
func TestWaitsBy(t *testing.T) {
	status := "---TRANSACTION 1, ACTIVE 3 sec starting index read\nmysql tables in use 1, locked 1\nLOCK WAIT 2 lock struct(s)\nMariaDB thread id 17, OS thread\n" +
		"---TRANSACTION 2, ACTIVE 3 sec\n2 lock struct(s)\nMariaDB thread id 7, OS thread\n"
	for id, want := range map[int64]bool{17: true, 7: false, 1: false} {
		if got := mariadb.WaitsBy(status, id); got != want {
			t.Errorf("connection %d waits: %v, want %v", id, got, want)
		}
	}
}

// started is a server with some settings. It ends with the test.
func started(t *testing.T, settings ...string) *mariadbproc.Server {
	t.Helper()
	s, err := mariadbproc.Start(t.Context(), proctest.Group(t), program(t, "to be there already"), settings...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is a pool of connections of root. It closes with the test.
func opened(t *testing.T, s *mariadbproc.Server) *sql.DB {
	t.Helper()
	connector, err := mysql.NewConnector(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// left are the databases of a server that are none of its own.
func left(t *testing.T, s *mariadbproc.Server) (names []string) {
	t.Helper()
	rows, err := opened(t, s).QueryContext(context.Background(), "SELECT schema_name FROM information_schema.SCHEMATA WHERE schema_name NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestMariaDBThatIsThere: a run uses it in a database of its own, and leaves nothing in it.
func TestMariaDBThatIsThere(t *testing.T) {
	server := started(t)
	of, endpoints, err := mariadb.Service().At("mariadb://root@" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
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

// TestReachRefuses: a user who may not do what runs do is told what is missing, and a database
// that could not be made in full is gone.
func TestReachRefuses(t *testing.T) {
	server := started(t, "log-bin=binary", "server-id=1")
	db := opened(t, server)
	of, endpoints, err := mariadb.Service().At("mariadb://plain@" + server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []struct{ statement, refused string }{
		{"CREATE USER plain", "GRANT ALL ON `gcsim-%`.*"},
		{"GRANT ALL ON `gcsim-%`.* TO plain", "PROCESS privilege"},
		{"GRANT PROCESS ON *.* TO plain", "you do not have the SUPER privilege and binary logging is enabled"},
		{"SET GLOBAL log_bin_trust_function_creators = 1", ""},
	} {
		if _, err := db.ExecContext(t.Context(), next.statement); err != nil {
			t.Fatal(err)
		}
		err := of.Reach(t.Context(), endpoints)
		refused := err != nil && strings.Contains(strings.ToLower(err.Error()), strings.ToLower(next.refused))
		if refused != (next.refused != "") || !refused && err != nil {
			t.Errorf("after %s: %v, want %q", next.statement, err, next.refused)
		}
	}
	if names := left(t, server); len(names) > 0 {
		t.Errorf("the attempts have left %q", names)
	}
}

// TestLacks: only a server of the run's own can be told when to end sessions and transactions.
func TestLacks(t *testing.T) {
	there, _, err := mariadb.Service().At("mariadb://root@127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	lacks := map[string]string{
		"ended":             "a MariaDB that is there already has a wait_timeout of its own",
		"server-rolls-back": "a MariaDB that is there already has an innodb_rollback_on_timeout of its own",
	}
	for _, name := range []string{"03-silent-session", "05-half-committed"} {
		for _, v := range services.Parse(t, "../../../scenarios/mariadb/"+name+".yaml")[0].Variants {
			if says := there.Lacks(&v); says != lacks[v.Name] {
				t.Errorf("%s: a server that is there already lacks %q, want %q", v.Name, says, lacks[v.Name])
			}
			if own := mariadb.Service(); own.Lacks != nil && own.Lacks(&v) != "" {
				t.Errorf("%s: a server of the run's own lacks %q", v.Name, own.Lacks(&v))
			}
		}
	}
}

// TestAtRefuses: what is no place, and says what is.
func TestAtRefuses(t *testing.T) {
	for _, where := range []string{"127.0.0.1:3306", "http://127.0.0.1:3306", "mariadb:///db", "mariadb://h:p/%zz"} {
		if _, _, err := mariadb.Service().At(where); err == nil || !strings.Contains(err.Error(), "want the URL of one that is there already") {
			t.Errorf("%s: %v", where, err)
		}
	}
}
