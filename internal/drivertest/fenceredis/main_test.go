package fenceredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// The test binary is its own servers and janitor.
func TestMain(m *testing.M) {
	redisNode := &cobra.Command{
		Use:                redisproc.Arg,
		DisableFlagParsing: true, // the flags are redis-server's
		RunE:               func(_ *cobra.Command, args []string) error { return redisproc.Run(args) },
	}
	proctest.Play(lab.Janitor(), redisNode)
	goleak.VerifyTestMain(m)
}

const deadline = 30 * time.Second

// real is a redis-server with some settings.
func real(t *testing.T, g *proc.Group, settings ...string) *redisproc.Server {
	t.Helper()
	program := redisproc.Program()
	if program == "" {
		need.Program(t, "redis-server", "to keep marks in")
	}
	return start(t, g, program, settings...)
}

func start(t *testing.T, g *proc.Group, program string, settings ...string) *redisproc.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	s, err := redisproc.Start(ctx, g, program, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func connect(t *testing.T, s *redisproc.Server) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return client
}
