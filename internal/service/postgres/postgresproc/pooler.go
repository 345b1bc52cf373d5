package postgresproc

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

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
