// Package redisproc runs Redis as a process: the program redis-server or valkey-server, or
// an embedded one where there is none.
package redisproc

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program for a process that calls Run with the rest.
const Arg = "redis-node"

// Install is the command that brings redis-server.
const Install = "apt-get install redis-server"

// Program is where a real Redis is, "" where there is none.
func Program() string {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Run serves Redis on args[0], by the program args[1] with the arguments after it, which
// then is this process. Where the program is "", Run serves the embedded one and does not
// return but with an error. The embedded one keeps nothing when it ends.
func Run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("redis: got %q, want an address and a program", args)
	}
	addr, program := args[0], args[1]
	if program == "" {
		return serveEmbedded(addr)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	argv := slices.Concat([]string{program}, args[2:], []string{"--bind", host, "--port", port}) // a file of settings comes first
	return fmt.Errorf("redis: %w", proc.Exec(argv))
}

// Server is a Redis that is a process. It keeps its address and its directory while its process is gone.
type Server struct{ proc.Node }

// Start starts a Redis in g, whose program must call Run for Arg, and returns when it serves. program is what Program
// returns; args are its own, without addresses, and are not for the embedded one. It ends with the group.
func Start(ctx context.Context, g *proc.Group, program string, args ...string) (*Server, error) {
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	s := &Server{proc.Node{Group: g, Name: "redis", Addr: free[0], Args: append([]string{Arg, free[0], program}, args...)}}
	s.Serves = s.serves
	return s, s.Restart(ctx)
}

// startDeadline is for how long a Redis may take to serve: else it does in a few milliseconds.
const startDeadline = 30 * time.Second

// Restart starts the process, after it was killed, and returns when it serves what it kept.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startDeadline, fmt.Errorf("it does not answer on %s after %v", s.Addr, startDeadline))
	defer cancel()
	return s.Node.Restart(ctx)
}

// serves asks once whether the server serves. Until somebody listens it is not the client that
// tries, as that tries more than once, and logs it.
func (s *Server) serves(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return err
	}
	conn.Close()
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
	defer client.Close()
	return client.Ping(ctx).Err()
}

// Settings are the arguments by which a real Redis keeps what it was told: "none" nothing, "everysec"
// what is a second or two old, "always" all that it answered. Its files are in dir.
func Settings(dir, persistence string) []string {
	args := []string{"--dir", dir, "--save", "", "--loglevel", "warning"}
	if persistence == "none" {
		return append(args, "--appendonly", "no")
	}
	return append(args, "--appendonly", "yes", "--appendfsync", persistence)
}
