package postgresproc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

const deadline = 2 * time.Minute

func TestMain(m *testing.M) { proctest.Main(m, postgresproc.Command(), parent()) }

// parent is a role: to start a server, say its directory, and hang.
func parent() *cobra.Command {
	return &cobra.Command{
		Use: "parent",
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := proc.NewGroup(os.Args[0])
			if err != nil {
				return err
			}
			if _, err := postgresproc.Start(cmd.Context(), g, postgresproc.Program()); err != nil {
				return err
			}
			fmt.Println(g.Dir)
			select {}
		},
	}
}

// TestParentKilled: a kill -9 of who has started the server leaves no process, and no files.
func TestParentKilled(t *testing.T) {
	postgrestest.Need(t, "to lose its parent")
	p, err := proctest.Group(t).Start("parent", nil, "parent")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := bufio.NewReader(p.Stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err, p.Ended())
	}
	dir = strings.TrimSpace(dir)
	if len(processesIn(t, dir)) == 0 {
		t.Fatal("there is no server")
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Stat(dir)
		if left := processesIn(t, dir); len(left) == 0 && errors.Is(err, fs.ErrNotExist) {
			return
		} else if time.Now().After(end) {
			t.Fatalf("there are %q, and %s: %v", left, dir, err)
		}
	}
}

// ended ends a server as its users do who wait for no clients.
func ended(ctx context.Context, s *postgresproc.Server) error {
	return errors.Join(s.Process().Signal(syscall.SIGINT), s.Process().AwaitEnd(ctx))
}

// TestLife: a server is stopped for a while, killed, ended and started again.
func TestLife(t *testing.T) {
	program := postgresproc.Program()
	if program == "" {
		need.Program(t, "postgres", "to be stopped and killed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	g := proctest.Group(t)
	s, err := postgresproc.Start(ctx, g, program, "max_connections=7")
	if err != nil {
		t.Fatal(err)
	}
	connect := func() (*pgx.Conn, error) { return pgx.Connect(ctx, s.URL()) }
	conn, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var n string
	if err := conn.QueryRow(ctx, "SHOW max_connections").Scan(&n); err != nil || n != "7" {
		t.Fatalf("the setting is %s, %v, want 7", n, err)
	}

	// The connection's process stands still as well, and not the postmaster alone.
	if err := s.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- conn.Ping(ctx) }()
	select {
	case err := <-answered:
		t.Errorf("a server that stands still answers: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := errors.Join(s.Resume(), <-answered); err != nil {
		t.Fatal(err)
	}

	for what, end := range map[string]func() error{
		"killed":                      s.Kill,
		"killed where it stood still": func() error { return errors.Join(s.Pause(ctx), s.Kill()) },
		"ended":                       func() error { return ended(ctx, s) },
	} {
		if err := end(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if left := processesIn(t, g.Dir); len(left) > 0 {
			t.Errorf("after it was %s there are %q", what, left)
		}
		if _, err := connect(); err == nil {
			t.Errorf("it answers after it was %s", what)
		}
		if err := s.Restart(ctx); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		again, err := connect()
		if err != nil {
			t.Fatalf("it does not answer after it was %s and started again: %v", what, err)
		}
		again.Close(ctx)
	}
}

// processesIn are the command lines of those whose directory is below dir.
func processesIn(t *testing.T, dir string) (lines []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if cwd, err := os.Readlink(filepath.Join(p, "cwd")); err == nil && strings.HasPrefix(cwd, dir) {
			line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
			lines = append(lines, string(line))
		}
	}
	return lines
}

// TestSegment: the server's segment of shared memory goes with its last process, also where
// that is killed.
func TestSegment(t *testing.T) {
	program := postgresproc.Program()
	if program == "" {
		need.Program(t, "postgres", "to be killed")
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	g := proctest.Group(t)
	s, err := postgresproc.Start(ctx, g, program)
	if err != nil {
		t.Fatal(err)
	}
	id := segment(t, g.Dir)
	if there := segments(t); !there[id] {
		t.Fatalf("segment %s is not among %v", id, there)
	}
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if there := segments(t); there[id] {
		t.Errorf("segment %s has outlived the server", id)
	}
}

// segment is the id of the one segment that the server in a group's directory has.
func segment(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "postmaster.pid"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v, want one file", files, err)
	}
	told, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(told), "\n")
	return strings.Fields(lines[6])[1]
}

// segments are the ids of all; see proc(5).
func segments(t *testing.T) map[string]bool {
	t.Helper()
	table, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	for line := range strings.Lines(string(table)) {
		ids[strings.Fields(line)[1]] = true
	}
	return ids
}
