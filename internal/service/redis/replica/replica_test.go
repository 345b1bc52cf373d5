package replica_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/service/redis/replica"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// servers are those that a test is run on, by name.
var servers = map[string]func(*testing.T) *redisproc.Server{
	"redis": func(t *testing.T) *redisproc.Server {
		return redistest.Real(t, "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0")
	},
	"redis, by a file": func(t *testing.T) *redisproc.Server {
		return redistest.Real(t, "--repl-diskless-sync", "no", "--dir", t.TempDir())
	},
	"embedded": redistest.Embedded,
}

// follow begins the stream of a server.
func follow(t *testing.T, s *redisproc.Server) *replica.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := replica.Follow(ctx, conn, "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	return stream
}

// next is the next command that is about keys, with its first two words.
func next(t *testing.T, s *replica.Stream) string {
	t.Helper()
	for {
		command, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch command[0] {
		case "PING", "SELECT", "REPLCONF", "PEXPIREAT":
		default:
			return strings.Join(command[:min(2, len(command))], " ")
		}
	}
}

// TestStream: what changed is told in its order, what a script changed between MULTI and
// EXEC, and what expired as a DEL.
func TestStream(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			client := redistest.Connect(t, server)
			stream := follow(t, server)
			ctx := t.Context()
			if err := client.Set(ctx, "short", "a", 20*time.Millisecond).Err(); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"SET short", "DEL short"} {
				if got := next(t, stream); got != want {
					t.Fatalf("the stream has %q, want %q", got, want)
				}
			}
			both := redis.NewScript("redis.call('SET', KEYS[1], 'b'); return redis.call('HSET', KEYS[2], 'f', 1)")
			if err := both.Run(ctx, client, []string{"one", "two"}).Err(); err != nil {
				t.Fatal(err)
			}
			if err := client.HDel(ctx, "two", "f").Err(); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"MULTI", "SET one", "HSET two", "EXEC"} {
				if got := next(t, stream); got != want {
					t.Fatalf("the stream has %q, want %q", got, want)
				}
			}
			if got := next(t, stream); got != "HDEL two" && got != "DEL two" {
				t.Errorf("the stream has %q, want the end of two", got)
			}
		})
	}
}

// TestUncounted: a replica that follows only to see is none that WAIT counts.
func TestUncounted(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			client := redistest.Connect(t, server)
			stream := follow(t, server)
			if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			if got := next(t, stream); got != "SET k" {
				t.Fatalf("the stream has %q", got)
			}
			if n, err := client.Wait(t.Context(), 1, 100*time.Millisecond).Result(); n != 0 || err != nil {
				t.Errorf("WAIT counts %d replicas (%v), want 0", n, err)
			}
		})
	}
}

// TestFollowEnds: with its context, where nobody answers.
func TestFollowEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	conn, err := net.Dial("tcp", silent.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replica.Follow(ctx, conn, "", ""); err == nil {
		t.Error("it has followed")
	}
}
