package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/internal/service/mariadb/mariadbproc"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/storage/storagecmd"
)

// The commands that bench starts itself with, beside those of the lab.
const (
	roleStorage = "storage"
	roleNoop    = "noop"
	roleBare    = "bare"
	roleEtcd    = "synced-etcd"
	roleExec    = "exec"
	roleGreedy  = "greedy"
	roleHold    = "hold"
)

func roles() []*cobra.Command {
	list := append(lab.Roles(all.List), mariadbproc.Command())
	for _, role := range []struct {
		use string
		run func(ctx context.Context, args []string) error
	}{
		{roleNoop + " ADDRESS", func(ctx context.Context, args []string) error {
			// The timeouts cost a no-op handler as much as the storage.
			srv := storagecmd.NewServer(nil, kvhttp.NewTurns(), kvhttp.DefaultMaxKey, nil)
			srv.Addr = args[0]
			return serveNoop(ctx, srv)
		}},
		{roleBare + " ADDRESS", func(ctx context.Context, args []string) error {
			return serveNoop(ctx, &http.Server{Addr: args[0]})
		}},
		{roleEtcd + " ADDRESS DIR", serveEtcd},
		{roleExec + " PROGRAM", func(_ context.Context, args []string) error {
			return syscall.Exec(args[0], args, os.Environ())
		}},
		{roleGreedy + " CLIENTS ADDRESS KEYS", beGreedy},
		{roleHold + " LOCK WHERE SCOPE", holdUntilKilled},
	} {
		list = append(list, &cobra.Command{
			Use: role.use, Hidden: true, Args: cobra.ExactArgs(len(strings.Fields(role.use)) - 1),
			RunE: func(cmd *cobra.Command, args []string) error { return role.run(cmd.Context(), args) },
		})
	}
	return list
}

// serveNoop is the least that net/http can do: the answer of a write, to
// everything. The body is not looked at; net/http itself reads it away, to find
// the next request.
func serveNoop(ctx context.Context, srv *http.Server) error {
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	context.AfterFunc(ctx, func() { srv.Close() })
	return srv.ListenAndServe()
}

// server is one that runs. It ends with the group.
type server struct {
	*proc.Process        // nil where it is no process, or several
	addr          string // or how else it is reached, in any process
	began         time.Time
}

// missing is why something is not measured: what is not there, and how to get it.
type missing string

func (m missing) Error() string { return string(m) }

// startTimeout is how long a server may take to serve.
const startTimeout = time.Minute

// start starts the server of a role on a free address, with more arguments after that, and
// returns when it takes connections.
func (b *bench) start(role string, args ...string) *server {
	addr := must(ports.Free(1))[0]
	return b.startAt(addr, role, append([]string{addr}, args...)...)
}

// startAt starts a server that takes connections at addr, and returns when it does.
func (b *bench) startAt(addr, role string, args ...string) *server {
	began := time.Now()
	s := &server{must(b.group.Start(role, nil, append([]string{role}, args...)...)), addr, began}
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return s
		}
		select {
		case <-s.Done():
			check(s.Ended())
		case <-time.After(200 * time.Microsecond):
		}
		if time.Since(s.began) > startTimeout {
			check(fmt.Errorf("%s does not serve after %v: %w", role, startTimeout, err))
		}
	}
}

// storage starts cmd/storage, as its users do but for the address.
func (b *bench) storage(flags ...string) *server {
	addr := must(ports.Free(1))[0]
	return b.startAt(addr, roleStorage, append([]string{"--listen", addr, "--log-level", "warn"}, flags...)...)
}

// boltStorage starts one with the engine bolt, whose file is in a directory of the group.
func (b *bench) boltStorage(dir string) *server {
	return b.storage("--engine", "bolt", "--data", filepath.Join(b.group.Dir, dir))
}

// status is the file in which Linux tells of the process.
func (s *server) status() string { return fmt.Sprintf("/proc/%d/status", s.PID()) }
