package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/ports"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/storagecmd"
)

// The commands that bench starts itself with, beside those of the lab.
const (
	roleStorage = "storage"
	roleNoop    = "noop"
	roleBare    = "bare"
	roleExec    = "exec"
	roleGreedy  = "greedy"
	roleHold    = "hold"
)

func roles() []*cobra.Command {
	return append(lab.Roles(all.List),
		&cobra.Command{
			Use: roleNoop + " ADDRESS", Hidden: true, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				// The timeouts cost a no-op handler as much as the storage.
				srv := storagecmd.NewServer(nil, kvhttp.NewTurns(), kvhttp.DefaultMaxKey, nil)
				srv.Addr = args[0]
				return serveNoop(cmd.Context(), srv)
			},
		},
		&cobra.Command{
			Use: roleBare + " ADDRESS", Hidden: true, Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				return serveNoop(cmd.Context(), &http.Server{Addr: args[0]})
			},
		},
		&cobra.Command{
			Use: roleEtcd + " ADDRESS DIR", Hidden: true, Args: cobra.ExactArgs(2),
			RunE: func(cmd *cobra.Command, args []string) error { return serveEtcd(cmd.Context(), args[0], args[1]) },
		},
		greedyCommand(),
		holdCommand(),
		mariadbproc.Command(),
		&cobra.Command{
			Use: roleExec + " PROGRAM ARGUMENTS", Hidden: true, DisableFlagParsing: true, Args: cobra.MinimumNArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return syscall.Exec(args[0], args, os.Environ()) },
		},
	)
}

// serveNoop is the least that net/http can do: the answer of a write, to
// everything. The body is not looked at; net/http itself reads it away, to find
// the next request.
func serveNoop(ctx context.Context, srv *http.Server) error {
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	context.AfterFunc(ctx, func() { srv.Close() })
	return srv.ListenAndServe()
}

// server is a process that serves addr.
type server struct {
	*proc.Process
	addr  string
	began time.Time
}

// startTimeout is how long a server may take to serve.
const startTimeout = time.Minute

// start starts a server, with the arguments that args makes of a free address,
// and returns when it takes connections.
func (b *bench) start(args func(addr string) []string) (*server, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	return b.startAt(free[0], args(free[0])...)
}

// startAt starts a server that takes connections at addr, and returns when it does.
func (b *bench) startAt(addr string, args ...string) (s *server, err error) {
	s = &server{addr: addr, began: time.Now()}
	if s.Process, err = b.group.Start(args[0], nil, args...); err != nil {
		return nil, err
	}
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return s, conn.Close()
		}
		select {
		case <-s.Done():
			return nil, s.Ended()
		case <-time.After(200 * time.Microsecond):
		}
		if time.Since(s.began) > startTimeout {
			return nil, fmt.Errorf("%s does not serve after %v: %w", args[0], startTimeout, err)
		}
	}
}

// storage starts cmd/storage, as its users do but for the address.
func (b *bench) storage(flags ...string) (*server, error) {
	return b.start(func(addr string) []string {
		return append([]string{roleStorage, "--listen", addr, "--log-level", "warn"}, flags...)
	})
}

// noop starts roleNoop or roleBare.
func (b *bench) noop(role string) (*server, error) {
	return b.start(func(addr string) []string { return []string{role, addr} })
}

// status is the file in which Linux tells of the process.
func (s *server) status() string { return fmt.Sprintf("/proc/%d/status", s.PID()) }

// stop ends servers, and waits for their ends. Those that are nil were never
// started.
func stop(servers ...*server) error {
	var errs []error
	for _, s := range servers {
		if s != nil {
			errs = append(errs, s.Kill())
		}
	}
	return errors.Join(errs...)
}
