// Package postgresproc runs PostgreSQL as processes: the program postgres, and those that it
// makes for its connections.
package postgresproc

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Server is a PostgreSQL. It keeps its address and its directory while it is killed.
type Server struct {
	// Node's process is the postmaster. Each connection has a process of its own, which
	// outlives it for a while.
	proc.Node
	dir string // of the data
}

// Start makes a database cluster in a directory of g, starts a PostgreSQL on it, and returns
// when it serves. g's program must have Command. program is what Program returns; settings
// are NAME=VALUE. The server ends with the group.
//
// PostgreSQL refuses to run as root. Where this process is root's, the server is nobody's,
// and g's directory lets nobody through.
func Start(ctx context.Context, g *proc.Group, program string, settings ...string) (*Server, error) {
	if err := mayEnter(filepath.Dir(program), "a postgres elsewhere on PATH"); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(g.Dir)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := initialize(ctx, g, program, dir); err != nil {
		return nil, err
	}
	at := netip.MustParseAddrPort(free[0])
	args := []string{Arg, program, "-D", dir, "-h", at.Addr().String(), "-p", fmt.Sprint(at.Port())}
	own := []string{"unix_socket_directories=", "dynamic_shared_memory_type=mmap"}
	for _, setting := range slices.Concat(own, quick, settings) {
		args = append(args, "-c", setting)
	}
	s := &Server{Node: proc.Node{Group: g, Name: "postgres", Addr: free[0], Args: args}, dir: dir}
	s.Serves = func(ctx context.Context) error { return ping(ctx, s.URL()) }
	g.After(func() { _ = s.killWorkers() }) // they outlive the postmaster by a second
	return s, s.Restart(ctx)
}

// initialize makes the database cluster. It trusts whoever connects: its address is one of loopback.
func initialize(ctx context.Context, g *proc.Group, program, dir string) error {
	initdb := filepath.Join(filepath.Dir(program), "initdb")
	p, err := g.Start("initdb", nil, Arg, initdb, "--pgdata", dir,
		"--username", superuser, "--auth", "trust", "--no-locale", "--encoding", "UTF8", "--no-sync")
	if err != nil {
		return err
	}
	return p.AwaitEnd(ctx)
}

const superuser = "postgres"

// quick are settings by which a server is quick that is never to survive the loss of its machine: what
// was committed is with the kernel, and so survives any end of the processes, but it is not synced.
var quick = []string{"fsync=off", "full_page_writes=off"}

// Restart starts the server, after its end, and returns when it serves what it kept.
func (s *Server) Restart(ctx context.Context) error {
	// Kill leaves it behind. Nobody is alive whom it names, but for one that was given
	// the same number.
	_ = os.Remove(filepath.Join(s.dir, pidFile))
	if err := s.Node.Restart(ctx); err != nil {
		return err
	}
	return s.forget(ctx)
}

func ping(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// URL is how clients reach the server, as the superuser.
func (s *Server) URL() string { return urlOf(s.Addr, "postgres") }

func urlOf(addr, database string) string {
	return "postgres://" + superuser + "@" + addr + "/" + database + "?sslmode=disable"
}

// Kill kills all processes of the server, and returns once they are gone.
func (s *Server) Kill() error {
	err := errors.Join(s.Process().Signal(syscall.SIGKILL), s.killWorkers())
	if err == nil {
		<-s.Process().Done()
	}
	return err
}

// Pause stops all processes of the server, and returns once they stand still.
func (s *Server) Pause(ctx context.Context) error {
	if err := s.Process().Pause(); err != nil { // it makes no others from now on
		return err
	}
	return s.eachWorker(func(p *proc.Other) error { return p.Pause(ctx) })
}

func (s *Server) Resume() error {
	return errors.Join(s.eachWorker((*proc.Other).Resume), s.Process().Resume())
}

// workers are the ids of the server's processes but for the postmaster. All stay in the
// directory of the data, and nobody else is there.
func (s *Server) workers() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && pid != s.Process().PID() && s.has(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// has reports whether a process is the server's. One that has ended is nobody's.
func (s *Server) has(pid int) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && cwd == s.dir
}

// eachWorker does something to each worker. One that ends meanwhile is as good.
func (s *Server) eachWorker(do func(*proc.Other) error) error {
	var errs []error
	for _, pid := range s.workers() {
		p, err := proc.Find(pid)
		if err != nil {
			continue
		}
		if s.has(pid) { // still: the number is not another's
			err = do(p)
		}
		if err != nil && !ended(err) {
			errs = append(errs, err)
		}
		p.Close()
	}
	return errors.Join(errs...)
}

func ended(err error) bool {
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// killWorkers returns once there are none.
func (s *Server) killWorkers() error {
	for len(s.workers()) > 0 {
		if err := s.eachWorker((*proc.Other).Kill); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // the kernel tells only the parent of their end
	}
	return nil
}

// PoolerInstall is the command that brings pgbouncer.
const PoolerInstall = "apt-get install pgbouncer"

// PoolerProgram is where pgbouncer is, "" where there is none: on PATH, or where Debian puts it.
func PoolerProgram() string { return proc.Look("pgbouncer", "../sbin") }

// poolerConsole is the database by which pgbouncer tells of itself. A ping there opens no
// connection to the server.
const poolerConsole = "pgbouncer"

// poolerConfig lets everybody in, as the server does. It has no socket but that of TCP, and
// says what it does on standard error.
//
//go:embed pgbouncer.ini
var poolerConfig string

// StartPooler starts a pgbouncer in a group, before the server at an address, and returns when it
// serves. g's program must have Command. program is what PoolerProgram returns, mode is its
// pool_mode, and size how many connections to the server it has at most.
//
// Like PostgreSQL it refuses to run as root, and is nobody's then.
func StartPooler(ctx context.Context, g *proc.Group, program, server, mode string, size int) (*proc.Node, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	dir, err := makeDir(g.Dir)
	if err != nil {
		return nil, fmt.Errorf("pgbouncer: %w", err)
	}
	config, to, at := filepath.Join(dir, "pgbouncer.ini"), netip.MustParseAddrPort(server), netip.MustParseAddrPort(free[0])
	text := fmt.Appendf(nil, poolerConfig, to.Addr(), to.Port(), superuser, at.Addr(), at.Port(), mode, size)
	if err := os.WriteFile(config, text, 0o644); err != nil {
		return nil, fmt.Errorf("pgbouncer: %w", err)
	}
	p := &proc.Node{Group: g, Name: "pgbouncer", Addr: free[0], Args: []string{Arg, program, config}}
	p.Serves = func(ctx context.Context) error { return ping(ctx, urlOf(p.Addr, poolerConsole)) }
	return p, p.Restart(ctx)
}
