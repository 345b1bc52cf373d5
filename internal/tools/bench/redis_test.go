package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// serveRedis starts a Redis that ends with the test.
func serveRedis(t *testing.T) *server {
	t.Helper()
	need.Program(t, redisServer, "to lock in it")
	return startBench(t).launch(startRedis)
}

// TestWithoutRedis: where there is no Redis the report says so, for each part that needs it.
func TestWithoutRedis(t *testing.T) {
	t.Setenv("PATH", "")
	for _, name := range []string{"batches", "redis"} {
		b := startBench(t)
		measure(t, b, name)
		if text := b.report.markdown(); !strings.Contains(text, "Not measured: redis-server is not installed (apt-get install redis-server).") {
			t.Errorf("%s: the report is\n%s", name, text)
		}
	}
}

// TestEachWayExcludes: see wantExclusive.
func TestEachWayExcludes(t *testing.T) {
	s := serveRedis(t)
	for _, way := range []way{
		{"redislock", byRedislock(), s, false, lockTTL}, {"bare commands", byCommands, s, false, lockTTL},
		{"scripts", byScripts, s, false, lockTTL},
		{"redsync", byRedsync, s, false, lockTTL}, {"bsm/redislock", byBsm, s, false, lockTTL},
		{"bare commands, pipelined", with(dialPipelined, commands[*redis.AutoPipeliner]), s, true, lockTTL},
	} {
		t.Run(way.name, func(t *testing.T) { wantExclusiveWay(t, way, way.name) })
	}
}

// wantExclusiveWay is wantExclusive of two clients, which are one where the way is shared.
func wantExclusiveWay(t *testing.T, w way, scope string) {
	t.Helper()
	var p party
	if err := fail.Caught(func() { p = w.gather(2) }); err != nil {
		t.Fatal(err)
	}
	defer p.close()
	wantExclusive(t, p.locks[0], p.locks[1], scope)
}

// wantExclusive is that a lock which one client has is granted to another one when it was
// given back, and is given back once.
func wantExclusive(t *testing.T, one, other locking, scope string) {
	t.Helper()
	soon, cancel := context.WithTimeout(t.Context(), poll)
	defer cancel()
	err := fail.Caught(func() {
		unlock := one(t.Context(), scope)
		if err := fail.Caught(func() { other(soon, scope) }); err == nil {
			t.Error("granted while it is held")
		}
		unlock(t.Context())
		next := other(t.Context(), scope)
		if err := fail.Caught(func() { unlock(t.Context()) }); err == nil {
			t.Error("given back by who has it no more")
		}
		next(t.Context())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCounter: each request is one, and the question is none.
func TestCounter(t *testing.T) {
	s := serveRedis(t)
	client, end := dialRedis(s.addr)
	defer end()
	told := readBy(client)
	err := fail.Caught(func() {
		before := told(t.Context())
		for range 5 {
			fail.If(client.Set(t.Context(), "key", "value", 0).Err())
		}
		if got := told.since(t.Context(), before); got != 5 {
			t.Errorf("got %d after 5 requests", got)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHandOverTakesAsLongAsTheWait: the time from an unlock to the next grant counts, and
// not the time for which a lock is held; and a heat ends by an error of the lock.
func TestHandOverTakesAsLongAsTheWait(t *testing.T) {
	s := serveRedis(t)
	const slow = 30 * time.Millisecond
	var unlocked time.Time
	var longest time.Duration
	free := make(chan struct{}, 1)
	free <- struct{}{}
	take := func(ctx context.Context, _ string) func(context.Context) {
		select {
		case <-free:
		case <-ctx.Done():
			fail.If(ctx.Err())
		}
		if !unlocked.IsZero() {
			longest = max(longest, time.Since(unlocked))
		}
		return func(context.Context) {
			unlocked = time.Now()
			time.AfterFunc(slow, func() { free <- struct{}{} })
		}
	}
	client, end := dialRedis(s.addr)
	defer end()
	locks := []locking{take, take, take}
	var took []float64
	var requests int
	if err := fail.Caught(func() { took, requests = relay(locks, readBy(client), 10*slow) }); err != nil {
		t.Fatal(err)
	}
	if requests != 0 || len(took) == 0 {
		t.Errorf("%d hand-overs with %d requests, want some with none", len(took), requests)
	}
	fastest := time.Duration(slices.Min(took) * float64(time.Millisecond))
	if fastest < slow || fastest >= longest+hold {
		t.Errorf("the fastest hand-over took %v; want %v, and no %v more than the slowest, %v", fastest, slow, hold, longest)
	}

	broken := errors.New("no lock today")
	locks[1] = func(context.Context, string) func(context.Context) {
		fail.If(broken)
		return nil
	}
	if err := fail.Caught(func() { relay(locks, nil, slow) }); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
