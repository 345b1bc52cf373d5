package changes_test

import (
	"context"
	"slices"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/outside/changes"
	"github.com/fencelab/fencelab/internal/outside/gate"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
)

// TestRedis: what may write is held before it does, a transaction at its EXEC, and the stream has the keys. The lock is
// of no interest.
func TestRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Real(t)
	a, writes, err := changes.OpenRedis(t.Context(), "redis://"+server.Addr, func(key string) bool { return gate.OfLock(key, "/lock") })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	g, err := gate.OpenTCP(server.Addr, gate.Redis(writes, "/lock"))
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(&goredis.Options{Addr: g.Addr, MaxRetries: -1})
	defer client.Close()
	run := func(words ...any) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := client.Do(ctx, words...).Err(); err != goredis.Nil {
				return err
			}
			return nil
		}
	}
	pipe := func(begin func() goredis.Pipeliner) func(context.Context) error {
		return func(ctx context.Context) error {
			p := begin()
			p.Get(ctx, "a")
			p.Set(ctx, "a", "x", 0)
			p.Incr(ctx, "b")
			_, err := p.Exec(ctx)
			return err
		}
	}
	see(t, g, a, []asked{
		{"a read", run("GET", "a"), "", nil},
		{"what the server says of itself", run("INFO"), "", nil},
		{"a write", run("SET", "a", "new"), "SET a new", []string{"SET a"}},
		{"a lock", run("SET", "/lock", "x", "NX", "PX", 60000), "", nil},
		{"a token", run("EVAL", "return redis.call('INCR', KEYS[1])", 1, "{/lock}:token"), "", nil},
		{"a script", run("EVAL", "return redis.call('SET', KEYS[2], 'x')", 2, "/lock", "c"), "EVAL return redis.call('SET', KEYS[2], 'x') 2 /lock c", []string{"SET c"}},
		{"a script that reads", run("EVAL", "return redis.call('GET', KEYS[1])", 1, "c"), "EVAL return redis.call('GET', KEYS[1]) 1 c", nil},
		{"a pipeline", pipe(client.Pipeline), "set a xincr b", []string{"SET a", "INCR b"}},
		{"a transaction", pipe(client.TxPipeline), "set a x; incr b", []string{"SET a", "INCR b"}},
		{"what is refused", run("SET", "a", "y", "NX"), "SET a y NX", nil},
	})
	direct := redistest.Connect(t, server)
	if err := direct.Set(t.Context(), "short", "x", time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	for direct.Exists(t.Context(), "short").Val() == 1 {
	}
	if got, err := a.Changes(t.Context()); !slices.Contains(got, "SET short") || slices.Contains(got, "DEL short") || err != nil {
		t.Errorf("a key whose time is over: changed %q, error %v", got, err)
	}
	client.Close()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}
