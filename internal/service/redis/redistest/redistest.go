// Package redistest is for tests on Redis as a process: a real one, and the embedded one.
package redistest

import (
	"context"
	"net"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// Deadline is for what is sure to happen.
const Deadline = 2 * time.Minute

// Main runs a package's tests, whose binary is its own servers and janitor. No goroutine may be left.
func Main(m *testing.M) {
	proctest.Play(redis.Service().Command(), proc.Janitor())
	goleak.VerifyTestMain(m)
}

// Servers are those that a test is run on, by name.
func Servers() map[string]func(*testing.T) *redisproc.Server {
	return map[string]func(*testing.T) *redisproc.Server{
		"redis":    func(t *testing.T) *redisproc.Server { return Real(t) },
		"embedded": Embedded,
	}
}

// Real is a redis-server with some settings, or one that keeps nothing. It ends with the test.
func Real(t testing.TB, settings ...string) *redisproc.Server {
	t.Helper()
	program := program(t)
	if len(settings) == 0 {
		settings = redisproc.Settings(t.TempDir(), "none")
	}
	return start(t, program, settings...)
}

func program(t testing.TB) string {
	t.Helper()
	program := redisproc.Program()
	if program == "" {
		need.Program(t, "redis-server", "to keep something in")
	}
	return program
}

// Watched are a master, its replica and three sentinels, which promote the replica. They end with the test.
func Watched(t testing.TB) (master, replica *redisproc.Server, sentinels []string) {
	t.Helper()
	master = Real(t)
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		t.Fatal(err)
	}
	replica = Real(t, append(redisproc.Settings(t.TempDir(), "none"), "--replicaof", host+" "+port)...)
	all := proctest.Started(t, Deadline, func(ctx context.Context, g *proc.Group) ([]*redisproc.Server, error) {
		return redisproc.Sentinels(ctx, g, program(t), master.Addr, 3, 1)
	})
	return master, replica, Addrs(all)
}

// Cluster are the three masters of a Redis Cluster. They end with the test.
func Cluster(t testing.TB) []*redisproc.Server {
	t.Helper()
	return proctest.Started(t, Deadline, func(ctx context.Context, g *proc.Group) ([]*redisproc.Server, error) {
		return redisproc.Cluster(ctx, g, program(t), 3, redisproc.Settings(t.TempDir(), "none")...)
	})
}

// Addrs are the addresses of servers.
func Addrs(servers []*redisproc.Server) (all []string) {
	for _, s := range servers {
		all = append(all, s.Addr)
	}
	return all
}

// Embedded is an embedded server. It ends with the test.
func Embedded(t *testing.T) *redisproc.Server {
	t.Helper()
	return start(t, "")
}

func start(t testing.TB, program string, settings ...string) *redisproc.Server {
	t.Helper()
	return proctest.Started(t, Deadline, func(ctx context.Context, g *proc.Group) (*redisproc.Server, error) {
		return redisproc.Start(ctx, g, program, settings...)
	})
}

// Connect is a client that sends nothing twice.
func Connect(t *testing.T, s *redisproc.Server) *goredis.Client {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return client
}
