package redisproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Watched is what sentinels call the master and its replicas.
const Watched = "fencelab"

// sentinelSettings are those of a sentinel that watches the master at an address. A master is down when two sentinels
// have not heard from it for two seconds, for a machine that is busy.
const sentinelSettings = `dir %[1]s
sentinel monitor ` + Watched + ` %[2]s %[3]s 2
sentinel down-after-milliseconds ` + Watched + ` 2000
sentinel failover-timeout ` + Watched + ` 5000
`

// hasty are periods in ms that are whole seconds else: how often a sentinel asks for news, and tells the others what it
// has seen. For four times as long as the latter it leaves an old master alone that is back.
var hasty = []any{"info-period", 500, "publish-period", 250}

// Sentinels starts so many sentinels in g, which watch a master with so many replicas, and returns when each knows the
// others and all replicas that are there. They end with the group. program is a real Redis.
func Sentinels(ctx context.Context, g *proc.Group, program, master string, count, replicas int) (all []*Server, err error) {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return nil, err
	}
	for i := range count {
		dir := filepath.Join(g.Dir, fmt.Sprint("sentinel", i+1))
		conf := filepath.Join(dir, "sentinel.conf")
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(conf, fmt.Appendf(nil, sentinelSettings, dir, host, port), 0o600)); err != nil {
			return nil, err
		}
		s, err := Start(ctx, g, program, conf, "--sentinel")
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for _, s := range all {
		client := redis.NewSentinelClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
		defer client.Close()
		// One that does not know the command takes its time.
		_ = client.Process(ctx, redis.NewCmd(ctx, append([]any{"sentinel", "debug"}, hasty...)...))
	}
	for _, s := range all {
		client := redis.NewSentinelClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
		defer client.Close()
		if err := s.await(ctx, "find the others", func(ctx context.Context) error { return knowsAll(ctx, client, count-1, replicas) }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// await returns when a server that serves is ready, as ask says by a nil error.
func (s *Server) await(ctx context.Context, to string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startDeadline, fmt.Errorf("%s needs more than %v to %s", s.Addr, startDeadline, to))
	defer cancel()
	return s.Process().Await(ctx, ask)
}

// knowsAll is an error unless a sentinel knows so many others, and so many replicas that follow the master.
func knowsAll(ctx context.Context, sentinel *redis.SentinelClient, others, replicas int) error {
	known, err := sentinel.Sentinels(ctx, Watched).Result()
	if err != nil {
		return err
	}
	following, err := sentinel.Replicas(ctx, Watched).Result()
	if err != nil {
		return err
	}
	follow := 0
	for _, r := range following { // who reads the stream is among them, as one that is not there
		if r["flags"] == "slave" && r["master-link-status"] == "ok" {
			follow++
		}
	}
	if len(known) != others || follow != replicas {
		return fmt.Errorf("a sentinel knows %d others and %d replicas, want %d and %d", len(known), follow, others, replicas)
	}
	return nil
}
