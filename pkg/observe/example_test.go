package observe_test

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/observe"
)

// A program whose log says when a lock is lost, and when the resource refuses a claim.
func Example() {
	untimed := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "took" {
			return slog.Attr{}
		}
		return a
	}
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: untimed})
	log := observe.NewLog(slog.New(handler)) // or slog.Default()

	service := locktest.NewMemory(time.Second) // or etcdlock.New(client, 10*time.Second)
	backend := lock.Observe(service.Open().Backend, log)
	guard := fence.Watch(new(fence.Register), log.Claim)

	ctx := context.Background()
	pay := func(g lock.Grant) error {
		return guard.Do(ctx, g.Claim(), func(context.Context) error { return nil })
	}
	var old lock.Grant
	_ = lock.Do(ctx, backend, "/orders", func(_ context.Context, g lock.Grant) error {
		old = g
		service.Revoke(g) // as an operator could
		return lock.Do(ctx, service.Open(), "/orders", func(_ context.Context, g lock.Grant) error { return pay(g) })
	})
	_ = pay(old)
	// Output:
	// level=ERROR msg="lock: lost" scope=/orders token=1 owner=client1/1 mode=exclusive error="locktest: token 1 was revoked: lock: tenure is over"
	// level=WARN msg="fence: stale" scope=/orders token=1 mode=exclusive error="fence: stale token: 1 in scope \"/orders\" is older than the highest admitted, 2"
}
