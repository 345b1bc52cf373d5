// Package mariadbproc runs MariaDB as a process, the program mariadbd.
package mariadbproc

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program as a role of the server's.
const Arg = "mariadb-node"

// Install is the command that brings mariadbd.
const Install = "apt-get install mariadb-server"

// installer makes the system's tables.
const installer = "mariadb-install-db"

// Program is where mariadbd is, "" where there is none: on PATH, or where Debian puts it,
// which is not on the PATH of everybody.
func Program() string { return look("mariadbd") }

func look(name string) string { return proc.Look(name, "../sbin") }

func Command() *cobra.Command { return proc.Command(Arg, "Be a process of MariaDB", "mariadb") }

// Server is a MariaDB. It keeps its address and its directory while its process is gone.
type Server struct{ proc.Node }

// Start makes the system's tables in a directory of g, starts a MariaDB on them, and returns
// when it serves. g's program must have Command. program is what Program returns; settings
// are NAME=VALUE. The server ends with the group.
func Start(ctx context.Context, g *proc.Group, program string, settings ...string) (*Server, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(g.Dir, "mariadb")
	if err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	if err := initialize(ctx, g, program, dir); err != nil {
		return nil, err
	}
	at := netip.MustParseAddrPort(free[0])
	own := []string{"bind-address=" + at.Addr().String(), fmt.Sprint("port=", at.Port()), "socket=mariadb.sock", "pid-file=mariadb.pid", "tmpdir=" + dir}
	s := &Server{Node: proc.Node{Group: g, Name: "mariadb", Addr: free[0], Args: arguments(program, dir)}}
	s.Serves = s.serves
	for _, setting := range slices.Concat(own, quick, settings) {
		s.Args = append(s.Args, "--"+setting)
	}
	return s, s.Restart(ctx)
}

// initialize makes the system's tables, in which root has no password: the server's address
// is one of loopback.
func initialize(ctx context.Context, g *proc.Group, program, dir string) error {
	path := look(installer)
	if path == "" {
		return fmt.Errorf("mariadb: there is %s, and no %s: %s", program, installer, Install)
	}
	// It is a script, which looks for its tools on PATH.
	env := []string{
		"PATH=" + os.Getenv("PATH") + ":/usr/sbin:/usr/bin:/sbin:/bin",
		"TMPDIR=" + dir, // a MariaDB that starts deletes the files of others that have the same one
	}
	args := append(arguments(path, dir), "--skip-test-db", "--auth-root-authentication-method=normal")
	p, err := g.Start(installer, env, args...)
	if err != nil {
		return err
	}
	return p.AwaitEnd(ctx)
}

// arguments are those with which each program of the server begins.
func arguments(program, dir string) []string {
	args := []string{Arg, program, "--no-defaults", "--datadir=" + dir}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // it does not run as root unless it is told
	}
	return args
}

// quick are settings by which a server is quick that is never to survive the loss of its machine: what
// was committed is with the kernel, and so survives any end of the process, but it is not synced.
var quick = []string{"innodb-flush-log-at-trx-commit=2", "innodb-buffer-pool-size=32M", "skip-name-resolve"}

// serves asks once whether the server serves. Until somebody listens it is not the client that
// tries, as that logs it.
func (s *Server) serves(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return err
	}
	conn.Close()
	connector, err := mysql.NewConnector(s.Config())
	if err != nil {
		return err
	}
	client, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	return client.Close()
}

// Config is how clients reach the server, as root, in no database.
func (s *Server) Config() *mysql.Config {
	c := mysql.NewConfig()
	c.Logger = &mysql.NopLogger{} // what it would log it returns as well
	c.Net, c.Addr, c.User = "tcp", s.Addr, "root"
	return c
}
