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
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Server is a PostgreSQL. It keeps its address and its directory while it is killed.
type Server struct {
	// Node's process is the postmaster. Each connection has a process of its own, which outlives it for a while.
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
	return start(ctx, g, program, settings, func(dir string) error { return initialize(ctx, g, program, dir) })
}

// Follow is Start of a standby: its directory is a copy of that of the server at an address, HOST:PORT, which it
// follows from there on. It returns when the standby serves reads.
func Follow(ctx context.Context, g *proc.Group, program, leader string, settings ...string) (*Server, error) {
	return start(ctx, g, program, settings, func(dir string) error { return copyOf(ctx, g, program, leader, dir) })
}

// start starts a PostgreSQL on what fill makes in an empty directory.
func start(ctx context.Context, g *proc.Group, program string, settings []string, fill func(dir string) error) (*Server, error) {
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
	if err := fill(dir); err != nil {
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

// StandbyInstall is the command that brings what a standby needs beside postgres.
const StandbyInstall = "apt-get install postgresql"

// CanFollow reports whether Follow has the program that copies a server. What Get fetches has none.
func CanFollow() bool {
	_, err := os.Stat(copier(Program()))
	return err == nil
}

// copier is beside postgres itself, to which the one on PATH may be a link.
func copier(program string) string {
	if path, err := filepath.EvalSymlinks(program); err == nil {
		program = path
	}
	return filepath.Join(filepath.Dir(program), "pg_basebackup")
}

// copyOf fills a directory with a copy of a server's, which says whom it follows.
func copyOf(ctx context.Context, g *proc.Group, program, leader, dir string) error {
	at := netip.MustParseAddrPort(leader)
	p, err := g.Start("pg_basebackup", nil, Arg, copier(program), "--pgdata", dir,
		"--host", at.Addr().String(), "--port", fmt.Sprint(at.Port()), "--username", superuser,
		"--write-recovery-conf", "--checkpoint", "fast", "--no-sync")
	if err != nil {
		return err
	}
	return p.AwaitEnd(ctx)
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
	// Kill leaves it behind. Nobody is alive whom it names, but for one that was given the same number.
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

// poolerConsole is the database by which pgbouncer tells of itself. A ping there opens no connection to the server.
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

// Arg is the first argument with which Start starts the group's program as a role of the server's.
const Arg = "postgres-node"

// forgetArg has the role mark a segment of shared memory, not run a program.
const forgetArg = "forget"

// pidFile is the file in which a postmaster tells of itself.
const pidFile = "postmaster.pid"

// Command is the role: to run a program of PostgreSQL, as nobody where this process is root's.
func Command() *cobra.Command {
	return &cobra.Command{
		Use: Arg + " PROGRAM [ARGUMENT]...", Short: "Be a process of PostgreSQL", Hidden: true,
		Args: cobra.MinimumNArgs(1), DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			err := leaveRoot()
			switch {
			case err == nil && args[0] == forgetArg:
				err = forgetSegment(args[1:])
			case err == nil:
				err = proc.Exec(args)
			}
			if err != nil {
				err = fmt.Errorf("postgres: %w", err)
			}
			return err
		},
	}
}

// leaveRoot makes this process nobody's if it is root's.
func leaveRoot() error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid, err := nobody()
	if err != nil {
		return err
	}
	if err := kernel.Become(uid, gid); err != nil {
		return fmt.Errorf("as root it needs to become nobody: %w", err)
	}
	return nil
}

// nobody is the user who has no rights, and that user's group.
func nobody() (uid, gid int, err error) {
	u, err := user.Lookup("nobody")
	if err == nil {
		_, err = fmt.Sscan(u.Uid+" "+u.Gid, &uid, &gid)
	}
	return uid, gid, err
}

// makeDir makes a directory for data in a group's. It belongs to who runs the server.
func makeDir(of string) (string, error) {
	if err := mayEnter(filepath.Dir(of), "a TMPDIR that all may enter"); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(of, "postgres")
	if err != nil || os.Geteuid() != 0 {
		return dir, err
	}
	uid, gid, err := nobody()
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.Chown(dir, uid, gid), os.Chown(of, -1, gid), os.Chmod(of, 0o710))
}

// mayEnter says that PostgreSQL may not enter a directory, and what there is to want; otherwise
// is what would do as well as another mode.
func mayEnter(dir, otherwise string) error {
	if at := closed(dir); at != "" && os.Geteuid() == 0 {
		return fmt.Errorf("it does not run as root, but as nobody, and nobody may not enter %s: want chmod o+x %[1]s, or %s", at, otherwise)
	}
	return nil
}

// closed is the first of a directory and those above it that only its owner may enter; "": there is none.
func closed(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 == 0 {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// forget has the kernel remove the server's segment of System V's shared memory with the last process that uses it.
// Else the segment, of 56 bytes, would outlive a server that is killed. Only the segment's owner may ask for that.
func (s *Server) forget(ctx context.Context) error {
	told, err := os.ReadFile(filepath.Join(s.dir, pidFile))
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	const line = 6 // key and id
	lines := strings.Split(string(told), "\n")
	if len(lines) <= line {
		return fmt.Errorf("postgres: %s has no line of shared memory: %q", pidFile, told)
	}
	segment := strings.Fields(lines[line])
	p, err := s.Group.Start("postgres "+forgetArg, nil, append([]string{Arg, forgetArg}, segment...)...)
	if err != nil {
		return err
	}
	return p.AwaitEnd(ctx)
}

// forgetSegment is forget's role; segment is its key and its id.
func forgetSegment(segment []string) error {
	if len(segment) != 2 {
		return fmt.Errorf("got %q, want the key and the id of a segment", segment)
	}
	id, err := strconv.Atoi(segment[1])
	if err != nil {
		return fmt.Errorf("segment: %w", err)
	}
	return kernel.RemoveSegment(id)
}
