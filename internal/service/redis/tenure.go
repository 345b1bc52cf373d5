package redis

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

var (
	//go:embed unlock.lua
	unlockSource string
	//go:embed renew.lua
	renewSource string

	unlockScript = redis.NewScript(unlockSource)
	renewScript  = redis.NewScript(renewSource)
)

// tenure is one of a client, by a recipe.
type tenure struct {
	*service.Life

	of    *client
	grant lock.Grant

	mu    sync.Mutex
	until time.Time // the end of the lease, by the client's clock
}

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
		select {
		case <-time.After(next):
		case <-t.Done():
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

// Grant implements lock.Tenure, as those below do.
func (t *tenure) Grant() lock.Grant { return t.grant }

// Unlock does what the client's setting says: where that is no comparison, whosever the
// lock is by then.
func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	freed := 0
	var failed error
	for _, node := range t.of.nodes {
		mine, err := t.free(ctx, node)
		failed = errors.Join(failed, err)
		if mine && err == nil {
			freed++
		}
	}
	switch {
	case 2*freed > len(t.of.nodes) && t.of.recipe.listens:
		return t.of.nodes[0].Publish(ctx, channelOf(t.grant.Scope), "").Err()
	case 2*freed > len(t.of.nodes):
		return nil
	case failed != nil:
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: failed}
	}
	return lock.ErrLost
}

// free reports whether the lock was there on a node, to be deleted.
func (t *tenure) free(ctx context.Context, node *redis.Client) (mine bool, err error) {
	if t.of.settings.Text(settingUnlock) == unlockDel {
		return true, node.Del(ctx, t.grant.Scope).Err()
	}
	script := cmp.Or(t.of.recipe.free, unlockScript)
	return script.Run(ctx, node, []string{t.grant.Scope}, t.grant.Owner).Bool()
}

// Name implements service.Tenure, as those below do.
func (t *tenure) Name() string { return t.grant.Owner }

func (t *tenure) Session() string { return t.grant.Owner }

func (t *tenure) Shown() (token fence.Token, remark string) { return t.grant.Token, "" }

func (t *tenure) Look(ctx context.Context, _ string) (said string, err error) {
	return t.of.look(ctx, t.grant)
}

// look asks the first node who holds a lock, as its keys say it.
func (c *client) look(ctx context.Context, g lock.Grant) (said string, err error) {
	question := "asked Redis whose " + g.Scope + " is"
	d, err := contentsOf(ctx, c.nodes[0], []string{g.Scope}, "")
	if err != nil {
		return "", fmt.Errorf("%s: %w", question, err)
	}
	held := d.holders(g.Scope)
	switch _, mine := held[g.Owner]; {
	case len(held) == 0:
		return "", service.NotHeld(question + ": nobody's")
	case !mine:
		return "", service.NotHeld(question + ": another's")
	}
	return question + ": its own", nil
}
