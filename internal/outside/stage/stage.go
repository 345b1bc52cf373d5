// Package stage has a lock service and a storage outside of a run, and their accounts, for users' programs.
package stage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// Stage is a lock service, perhaps with a storage, whose accounts are kept.
type Stage struct {
	Servers service.Servers
	Storage string // its URL; "": there is none

	storage *proc.Process
	group   *proc.Group
	plan    service.Plan
	cancel  context.CancelFunc
	over    chan struct{}
	work    sync.WaitGroup

	mu      sync.Mutex
	account Account
	err     error // why no account can be kept any more
	news    chan struct{}
}

// Account is what the lock service and the storage say that they did, each in its order.
type Account struct {
	Tenures  []history.Event // granted, ended, queued; their At is the time since 1970
	Requests []kv.Line
}

// Find is the grant, or the end, of a tenure of a lock; ok if there is one.
func (a *Account) Find(kind history.Kind, lock, tenure string) (e history.Event, ok bool) {
	i := slices.IndexFunc(a.Tenures, func(e history.Event) bool { return e.Kind == kind && e.Scope == lock && e.Tenure == tenure })
	if i < 0 {
		return e, false
	}
	return a.Tenures[i], true
}

// Open starts servers of a lock service, or joins those at endpoints, and begins the account of locks. exe has
// the lab's roles, world all settings of the servers.
func Open(ctx context.Context, exe string, s *service.Service, world setting.Values, endpoints, locks []string) (*Stage, error) {
	g, err := proc.NewGroup(exe)
	if err != nil {
		return nil, err
	}
	c := &Stage{
		group: g, plan: service.Plan{World: world, Locks: locks},
		over: make(chan struct{}), news: make(chan struct{}),
	}
	ctx, c.cancel = context.WithCancel(ctx)
	if len(endpoints) > 0 {
		c.Servers = s.Join(c, endpoints)
	} else {
		c.Servers, err = s.Begin(ctx, c)
	}
	if err == nil {
		err = c.Servers.Observe(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Stage) Close() error {
	close(c.over)
	c.cancel()
	err := c.group.Close()
	c.work.Wait()
	return err
}

// StartStorage starts a storage, which has more arguments, and keeps its account.
func (c *Stage) StartStorage(more ...string) error {
	p, err := c.group.Start("storage", nil, append([]string{"storage", "--journal", "-", "--listen", "127.0.0.1:0"}, more...)...)
	if err != nil {
		return err
	}
	journal := json.NewDecoder(bufio.NewReader(p.Stdout))
	var first kv.Line
	if err := journal.Decode(&first); err != nil {
		return errors.Join(err, p.Ended())
	}
	c.storage, c.Storage = p, "http://"+first.Listen
	c.Go(func() {
		for {
			var line kv.Line
			err := journal.Decode(&line)
			if errors.Is(err, io.EOF) {
				err = p.Ended()
			}
			if err != nil {
				c.Fail(p, err)
				return
			}
			c.note(func() { c.account.Requests = append(c.account.Requests, line) })
		}
	})
	return nil
}

// StorageStill does something while the storage stands still, and answers nobody.
func (c *Stage) StorageStill(do func() error) error {
	if err := c.storage.Pause(); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, c.storage.Resume())
}

// Await returns when the accounts have what it names, which has asks.
func (c *Stage) Await(ctx context.Context, what string, has func(*Account) bool) error {
	for {
		c.mu.Lock()
		found, err, news := has(&c.account), c.err, c.news
		c.mu.Unlock()
		if found || err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

func (c *Stage) See(look func(*Account)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	look(&c.account)
}

func (c *Stage) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.news)
	c.news = make(chan struct{})
}

// Group implements service.Stage, as those below do.
func (c *Stage) Group() *proc.Group { return c.group }

func (c *Stage) Plan() service.Plan { return c.plan }

func (c *Stage) Tell(events ...history.Event) {
	c.note(func() { c.account.Tenures = append(c.account.Tenures, events...) })
}

// Fail ends the accounts with an error, unless they are over.
func (c *Stage) Fail(_ *proc.Process, err error) {
	select {
	case <-c.over:
	default:
		c.note(func() { c.err = errors.Join(c.err, err) })
	}
}

func (c *Stage) Over() <-chan struct{} { return c.over }

func (c *Stage) Go(do func()) { c.work.Go(do) }

// Meanwhile does it at once: the accounts are taken in all the time.
func (c *Stage) Meanwhile(ctx context.Context, _ string, do func(context.Context) error) error {
	return do(ctx)
}
