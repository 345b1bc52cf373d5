package fenceredis_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/internal/need"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// The test binary is its own servers and janitor.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		var err error
		switch os.Args[1] {
		case redisproc.Arg:
			err = redisproc.Run(os.Args[2:])
		case proc.JanitorArg:
			err = proc.Janitor(os.Args[2], os.Stdin)
		default:
			goleak.VerifyTestMain(m)
			return
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const deadline = 30 * time.Second

// group is for servers that end with the test.
func group(t *testing.T) *proc.Group {
	t.Helper()
	g, err := proc.NewGroup(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

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
