package redis

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
)

var unlockScript, renewScript = script("unlock"), script("renew")

// tenure is one of a client, by a recipe of requests.
type tenure struct {
	*service.Life

	of    *client
	grant lock.Grant
	free  freeing

	mu    sync.Mutex
	until time.Time // the end of the lease, by the client's clock
}

// freeing releases a lock on a node, and reports whether it was there, to be released.
type freeing func(ctx context.Context, node *redis.Client, t *tenure) (mine bool, err error)

// bound is for how many TTLs a watchdog with a bound renews a lease.
const bound = 3

// keep closes done when the lease is over by the client's clock. Where the client renews
// its leases, keep does so. A watchdog that takes the lock again knows of no end.
func (t *tenure) keep() {
	ttl := t.of.settings.Time(setting.TTL)
	how, begun := t.of.settings.Text(settingRenew), time.Now()
	for {
		next := time.Until(t.lease())
		renews := how == renewWatchdog || how == renewSet || how == renewBounded && time.Since(begun) < bound*ttl
		if renews {
			next = min(next, ttl/3)
		}
		if !sleep.For(t.Context(), next) {
			return
		}
		if renews {
			t.renew(ttl)
		}
		if how != renewSet && !time.Now().Before(t.lease()) {
			t.End(lock.ErrCutOff)
		}
	}
}

func (t *tenure) lease() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

// renew gives the lease its whole time anew, if it is not over. renewSet does not ask.
func (t *tenure) renew(ttl time.Duration) {
	asked := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), asked.Add(ttl/3))
	defer cancel()
	var err error
	mine := true
	if t.of.settings.Text(settingRenew) == renewSet {
		err = t.of.nodes[0].Set(ctx, t.grant.Scope, t.grant.Owner, ttl).Err()
	} else {
		mine, err = renewScript.Run(ctx, t.of.nodes[0], []string{t.grant.Scope}, t.grant.Owner, ttl.Milliseconds()).Bool()
	}
	switch {
	case err != nil: // the next time, or never
	case !mine:
		t.End(lock.ErrLost)
	default:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.until = asked.Add(ttl)
	}
}

func (t *tenure) Grant() lock.Grant { return t.grant }

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	freed := 0
	var failed error
	for _, node := range t.of.nodes {
		mine, err := t.free(ctx, node, t)
		failed = errors.Join(failed, err)
		if mine && err == nil {
			freed++
		}
	}
	switch {
	case 2*freed > len(t.of.nodes):
		return nil
	case failed != nil:
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: failed}
	}
	return lock.ErrLost
}
