package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

const Name = "zookeeper"

func Dial(o service.Options) (service.Client, error) {
	by := service.RecipeOf(recipes, o.Settings)
	if by.peer != "" {
		return nil, service.ErrOriginal(by.name)
	}
	session := o.Settings.Time(setting.TTL)
	l, err := connect(o.Endpoints, session, session*time.Duration(o.Settings.Number(settingLost))/wholeSession, net.DialTimeout)
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}
	c := &client{l, o.Endpoints, o.Settings, by}
	if !c.recipe.own {
		return c, nil
	}
	return newOwnClient(c, o.Endpoints)
}

// client takes its locks by a recipe. All its nodes are of one session.
type client struct {
	*link
	endpoints []string
	settings  setting.Values
	recipe    *recipe
}

func (c *client) Reach(ctx context.Context) error {
	_, err := c.children(ctx, "/")
	return err
}

// Close ends the session, and with it all nodes that are left.
func (c *client) Close(context.Context) error {
	c.link.end()
	return nil
}

func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.queue(ctx, "lock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.granted(ctx, w.wait(ctx))
}

// TryLock takes a place in the queue, and leaves it where that is not the first.
func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.queue(ctx, "trylock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.granted(ctx, w.first(ctx))
}

func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	w, err := c.queue(ctx, "lock", scope, "")
	if err != nil {
		return nil, err
	}
	t := newTenure(w)
	stands := make(chan struct{})
	close(stands) // it has its place
	return service.EnqueueAs(ctx, t, stands, func(ctx context.Context) error {
		err := w.over(ctx, w.wait(ctx))
		if err == nil {
			t.begin()
		}
		return err
	})
}

// tenure is one of a client, or a place in the queue that will be one.
type tenure struct {
	*service.Life

	of       *asking
	acquired atomic.Bool // as the process has it: taken, and not released
}

func newTenure(w *asking) *tenure { return &tenure{Life: service.NewLife(), of: w} }

// begin says that the lock was granted, and watches from then on whether it is lost.
func (t *tenure) begin() {
	t.acquired.Store(true)
	suspended, lost := t.of.state()
	if t.of.settings.Text(settingSuspended) == suspendedIgnored {
		suspended = nil
	}
	go func() {
		select {
		case <-suspended:
			if t.End(lock.ErrCutOff) {
				t.of.abandon(t.of.node, nil) // nobody unlocks what is lost
			}
		case <-lost:
			t.End(lock.ErrLost)
		case <-t.Done():
		}
	}()
}

func (t *tenure) Grant() lock.Grant {
	return lock.Grant{Scope: t.of.lock, Owner: t.Name(), Token: fence.Token(t.of.czxid), Mode: t.of.recipe.mode}
}

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	t.acquired.Store(false)
	switch err := t.of.delete(ctx); {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired):
		return lock.ErrLost
	case err != nil:
		return &lock.UnknownError{Op: "unlock", Scope: t.of.lock, Err: err}
	}
	return nil
}

func (t *tenure) Name() string { return path.Base(t.of.node) }

func (t *tenure) Session() string { return "0x" + strconv.FormatInt(t.of.session, 16) }

func (t *tenure) Shown() (token fence.Token, remark string) {
	if t.of.settings.Text(setting.Token) == tokenSequence {
		return fence.Token(sequenceOf(t.Name()) + 1), ""
	}
	return fence.Token(t.of.czxid), ""
}

func (t *tenure) Look(ctx context.Context, how string) (said string, err error) {
	if how == lookAcquired {
		const question = "asked its process whether it has taken the lock and not released it"
		if !t.acquired.Load() {
			return "", service.NotHeld(question + ": no")
		}
		return question + ": yes", nil
	}
	question := fmt.Sprintf("asked ZooKeeper whether %s is the first node of %s", t.Name(), t.of.lock)
	if how == lookSynced {
		if _, err := ask(ctx, t.of.link, func() (string, error) { return t.of.Sync(t.of.lock) }); err != nil {
			return "", fmt.Errorf("asked its member to have all that the leader has done (sync): %w", err)
		}
		question = "had its member have all that the leader had done (sync), and " + question
	}
	first := t.of.first
	if how == lookReadOnly {
		first = t.of.firstReadOnly
		question += ", in a session that only reads"
	}
	switch err := first(ctx); {
	case errors.Is(err, service.ErrRanOut), errors.Is(err, zk.ErrNoNode):
		return "", service.NotHeld(question + ": it is gone")
	case errors.Is(err, lock.ErrLocked):
		return "", service.NotHeld(question + ": no")
	case err != nil:
		return "", fmt.Errorf("%s: %w", question, err)
	}
	return question + ": yes", nil
}
