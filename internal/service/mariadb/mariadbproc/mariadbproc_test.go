package mariadbproc_test

import (
	"context"
	"database/sql"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

const deadline = 2 * time.Minute

func TestMain(m *testing.M) { proctest.Main(m, mariadbproc.Command()) }

// ended ends a server as its users do.
func ended(ctx context.Context, s *mariadbproc.Server) error {
	return errors.Join(s.Process().Signal(syscall.SIGTERM), s.Process().AwaitEnd(ctx))
}

// TestLife: a server is stopped for a while, killed, ended and started again.
func TestLife(t *testing.T) {
	program := mariadbproc.Program()
	if program == "" {
		need.Program(t, "mariadbd", "to be stopped and killed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	s, err := mariadbproc.Start(ctx, proctest.Group(t), program, "max-connections=17")
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var n int
	if err := db.QueryRowContext(ctx, "SELECT @@max_connections").Scan(&n); err != nil || n != 17 {
		t.Fatalf("the setting is %d, %v, want 17", n, err)
	}

	if err := s.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- db.PingContext(ctx) }()
	select {
	case err := <-answered:
		t.Errorf("a server that stands still answers: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := errors.Join(s.Resume(), <-answered); err != nil {
		t.Fatal(err)
	}

	for what, end := range map[string]func() error{"killed": s.Kill, "ended": func() error { return ended(ctx, s) }} {
		if err := end(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := db.PingContext(ctx); err == nil {
			t.Errorf("it answers after it was %s", what)
		}
		if err := s.Restart(ctx); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if err := db.PingContext(ctx); err != nil {
			t.Errorf("it does not answer after it was %s and started again: %v", what, err)
		}
	}
}
