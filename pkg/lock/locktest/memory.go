package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Memory is a correct lock service in memory, with a queue per scope, for readers
// and writers. It stands in for a real one in tests, also under the fake time of
// testing/synctest. Its clients are lock.Sharers and lock.Inspectors.
type Memory struct {
	ttl   time.Duration
	fixed bool // the TTL is a fixed lease

	mu     sync.Mutex
	queues map[string][]*memoryTenure // the first is a holder, and readers right behind a reader are
	issued fence.Token                // one counter for all scopes, which never goes back
	opened int
}

// NewMemory returns a service whose locks are free ttl after their holder
// crashed.
func NewMemory(ttl time.Duration) *Memory {
	return &Memory{ttl: ttl, queues: make(map[string][]*memoryTenure)}
}

// NewFixedLease returns a service whose tenures end lease after the grant, whether
// their holder lives or not. They are lock.Extenders.
func NewFixedLease(lease time.Duration) *Memory {
	m := NewMemory(lease)
	m.fixed = true
	return m
}

// Subject presents the service to the laws.
func (m *Memory) Subject() Subject {
	return Subject{
		Open: func(context.Context) (Client, error) { return m.Open(), nil },
		// As with a service that keeps all of its state on disk.
		Restart: func(context.Context) error { return nil },
		TTL:     m.ttl,
		Slack:   m.ttl,

		FixedLease: m.fixed,
		Fair:       true,
		Shared:     true,
		Inspects:   true,
	}
}

// Open returns a fresh client of the service.
func (m *Memory) Open() Client {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened++
	c := &memoryClient{m: m, name: fmt.Sprintf("client%d", m.opened)}
	return Client{Backend: c, Crash: c.crash, Wake: c.wake, Close: c.close}
}

type memoryClient struct {
	m       *Memory
	name    string
	silent  bool            // crashed; nothing it does reaches the service
	tenures []*memoryTenure // its places in queues, the first or not
	locks   int             // made so far
}

type memoryTenure struct {
	client  *memoryClient
	grant   lock.Grant
	words   string
	granted chan struct{} // closed when it is the first in its queue
	done    chan struct{} // closed when it is over for the holder
	over    bool          // done is closed, and nothing renews the place in the queue
	err     error         // why, for Err
	expiry  *time.Timer   // runs while nothing renews it
	until   time.Time     // the end of a fixed lease; zero: it has none
	least   time.Time     // when a lease that is renewed ends at the soonest
}

var errSilent = errors.New("locktest: the client is cut off from the lock service")

func (c *memoryClient) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return c.try(ctx, scope, fence.Exclusive)
}

func (c *memoryClient) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return c.try(ctx, scope, fence.Shared)
}

func (c *memoryClient) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return c.wait(ctx, scope, fence.Exclusive)
}

func (c *memoryClient) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return c.wait(ctx, scope, fence.Shared)
}

func (c *memoryClient) try(ctx context.Context, scope string, mode fence.Mode) (lock.Tenure, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	if !c.m.joins(len(c.m.queues[scope]), scope, mode) {
		return nil, fmt.Errorf("locktest: trylock %q, %v: %w", scope, mode, lock.ErrLocked)
	}
	return c.enqueue(scope, mode, lock.Words(ctx)).leased(), nil
}

func (c *memoryClient) wait(ctx context.Context, scope string, mode fence.Mode) (lock.Tenure, error) {
	c.m.mu.Lock()
	if err := c.reach(ctx); err != nil {
		c.m.mu.Unlock()
		return nil, err
	}
	t := c.enqueue(scope, mode, lock.Words(ctx))
	c.m.mu.Unlock()

	var err error
	select {
	case <-t.granted:
		return t.leased(), nil
	case <-t.done:
		err = errSilent
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.m.remove(t)
	return nil, err
}

// Inspect tells no time: a lease in memory has none unless its holder is gone.
func (c *memoryClient) Inspect(ctx context.Context, scope string) (lock.State, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if err := c.reach(ctx); err != nil {
		return lock.State{}, err
	}
	state := lock.State{Queue: true}
	for i, t := range c.m.queues[scope] {
		party := lock.Party{Grant: t.grant, Words: t.words}
		if c.m.joins(i, scope, t.grant.Mode) {
			state.Holders = append(state.Holders, party)
		} else {
			state.Waiters = append(state.Waiters, party)
		}
	}
	return state, nil
}

// reach is called with c.m.mu held, as all that follows.
func (c *memoryClient) reach(ctx context.Context) error {
	if c.silent {
		return errSilent
	}
	return ctx.Err()
}

func (c *memoryClient) enqueue(scope string, mode fence.Mode, words string) *memoryTenure {
	c.locks++
	t := &memoryTenure{
		client:  c,
		grant:   lock.Grant{Scope: scope, Owner: fmt.Sprintf("%s/%d", c.name, c.locks), Mode: mode},
		words:   words,
		granted: make(chan struct{}),
		done:    make(chan struct{}),
	}
	c.tenures = append(c.tenures, t)
	c.m.queues[scope] = append(c.m.queues[scope], t)
	c.m.grantNext(scope)
	return t
}

// joins reports whether one at place i of the queue holds the lock, if all before it
// do.
func (m *Memory) joins(i int, scope string, mode fence.Mode) bool {
	exclusive := func(t *memoryTenure) bool { return t.grant.Mode == fence.Exclusive }
	return i == 0 || mode == fence.Shared && !slices.ContainsFunc(m.queues[scope][:i], exclusive)
}

func (m *Memory) grantNext(scope string) {
	for i, t := range m.queues[scope] {
		if !m.joins(i, scope, t.grant.Mode) {
			return
		}
		if t.grant.Token == 0 {
			m.issued++
			t.grant.Token = m.issued
			if m.fixed {
				t.until = time.Now().Add(m.ttl)
				t.expireAfter(m.ttl)
			}
			close(t.granted)
		}
	}
}

// expireAfter lets the tenure end without its holder's doing.
func (t *memoryTenure) expireAfter(d time.Duration) {
	t.keep()
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		t.client.m.mu.Lock()
		defer t.client.m.mu.Unlock()
		if t.expiry == timer {
			t.end(lock.ErrCutOff)
			t.client.m.remove(t)
		}
	})
	t.expiry = timer
}

// remove takes t out of its queue and reports whether it was there.
func (m *Memory) remove(t *memoryTenure) bool {
	scope := t.grant.Scope
	i := slices.Index(m.queues[scope], t)
	if i < 0 {
		return false
	}
	m.queues[scope] = slices.Delete(m.queues[scope], i, i+1)
	t.client.tenures = slices.DeleteFunc(t.client.tenures, func(o *memoryTenure) bool { return o == t })
	t.keep()
	t.end(nil)
	m.grantNext(scope)
	return true
}

// keep undoes expireAfter.
func (t *memoryTenure) keep() {
	if t.expiry != nil {
		t.expiry.Stop()
		t.expiry = nil
	}
}

func (t *memoryTenure) end(err error) {
	if !t.over {
		t.over, t.err = true, err
		close(t.done)
	}
}

// Revoke ends the tenure of a grant, as an operator could, and tells its holder.
func (m *Memory) Revoke(g lock.Grant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.queues[g.Scope] {
		if t.grant == g {
			t.end(fmt.Errorf("locktest: token %d was revoked: %w", g.Token, lock.ErrLost))
			m.remove(t)
			return
		}
	}
}

func (c *memoryClient) crash() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.silent {
		return
	}
	c.silent = true
	for _, t := range c.tenures {
		if t.until.IsZero() {
			t.expireAfter(max(c.m.ttl, time.Until(t.least)))
		}
	}
}

func (c *memoryClient) wake() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.silent = false
	for _, t := range c.tenures {
		if t.until.IsZero() && !t.over {
			t.keep()
		}
	}
}

// close is a goodbye: unless the client is silent, its places are free at once.
func (c *memoryClient) close() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.silent {
		return
	}
	c.silent = true
	for len(c.tenures) > 0 {
		c.tenures[0].end(lock.ErrCutOff)
		c.m.remove(c.tenures[0])
	}
}

func (t *memoryTenure) Grant() lock.Grant     { return t.grant }
func (t *memoryTenure) Done() <-chan struct{} { return t.done }

func (t *memoryTenure) Err() error {
	t.client.m.mu.Lock()
	defer t.client.m.mu.Unlock()
	return t.err
}

func (t *memoryTenure) Unlock(context.Context) error {
	t.client.m.mu.Lock()
	defer t.client.m.mu.Unlock()
	if t.client.silent {
		t.end(nil)
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: errSilent}
	}
	if !t.client.m.remove(t) {
		return fmt.Errorf("locktest: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// leased returns t with a fixed lease's methods where it has one.
func (t *memoryTenure) leased() lock.Tenure {
	if t.client.m.fixed {
		return leasedTenure{t}
	}
	return t
}

type leasedTenure struct{ *memoryTenure }

var (
	_ lock.Extender   = leasedTenure{}
	_ lock.Extensible = (*memoryTenure)(nil)
)

func (t leasedTenure) Until() time.Time {
	t.client.m.mu.Lock()
	defer t.client.m.mu.Unlock()
	return t.until
}

func (t *memoryTenure) Extend(ctx context.Context, d time.Duration) error {
	t.client.m.mu.Lock()
	defer t.client.m.mu.Unlock()
	switch {
	case t.client.silent:
		return &lock.UnknownError{Op: "extend", Scope: t.grant.Scope, Err: errSilent}
	case ctx.Err() != nil:
		return ctx.Err()
	case t.over:
		return fmt.Errorf("locktest: extend %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	end := time.Now().Add(d)
	if t.until.IsZero() {
		if end.After(t.least) {
			t.least = end
		}
		return nil
	}
	t.until = end
	t.expireAfter(d)
	return nil
}
