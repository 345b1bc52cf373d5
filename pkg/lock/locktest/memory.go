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

// Memory is a correct lock service in memory, with a queue per scope. It stands
// in for a real one in tests, also under the fake time of testing/synctest.
type Memory struct {
	ttl time.Duration

	mu     sync.Mutex
	queues map[string][]*memoryTenure // the first is the holder
	issued fence.Token                // one counter for all scopes, which never goes back
	opened int
}

// NewMemory returns a service whose locks are free ttl after their holder
// crashed.
func NewMemory(ttl time.Duration) *Memory {
	return &Memory{ttl: ttl, queues: make(map[string][]*memoryTenure)}
}

// Subject presents the service to the laws.
func (m *Memory) Subject() Subject {
	return Subject{
		Open: func(context.Context) (Client, error) { return m.Open(), nil },
		// As with a service that keeps all of its state on disk.
		Restart: func(context.Context) error { return nil },
		TTL:     m.ttl,
		Slack:   m.ttl,
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
	granted chan struct{} // closed when it is the first in its queue
	done    chan struct{} // closed when it is over for the holder
	over    bool          // done is closed, and nothing renews the place in the queue
	err     error         // why, for Err
	expiry  *time.Timer   // runs while nothing renews it
}

var errSilent = errors.New("locktest: the client is cut off from the lock service")

func (c *memoryClient) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	if len(c.m.queues[scope]) > 0 {
		return nil, fmt.Errorf("locktest: trylock %q: %w", scope, lock.ErrLocked)
	}
	return c.enqueue(scope), nil
}

func (c *memoryClient) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	c.m.mu.Lock()
	if err := c.reach(ctx); err != nil {
		c.m.mu.Unlock()
		return nil, err
	}
	t := c.enqueue(scope)
	c.m.mu.Unlock()

	var err error
	select {
	case <-t.granted:
		return t, nil
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

// reach is called with c.m.mu held, as all that follows.
func (c *memoryClient) reach(ctx context.Context) error {
	if c.silent {
		return errSilent
	}
	return ctx.Err()
}

func (c *memoryClient) enqueue(scope string) *memoryTenure {
	c.locks++
	t := &memoryTenure{
		client:  c,
		grant:   lock.Grant{Scope: scope, Owner: fmt.Sprintf("%s/%d", c.name, c.locks)},
		granted: make(chan struct{}),
		done:    make(chan struct{}),
	}
	c.tenures = append(c.tenures, t)
	c.m.queues[scope] = append(c.m.queues[scope], t)
	c.m.grantFirst(scope)
	return t
}

func (m *Memory) grantFirst(scope string) {
	if len(m.queues[scope]) == 0 || m.queues[scope][0].grant.Token != 0 {
		return
	}
	first := m.queues[scope][0]
	m.issued++
	first.grant.Token = m.issued
	close(first.granted)
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
	if t.expiry != nil {
		t.expiry.Stop()
	}
	t.end(nil)
	m.grantFirst(scope)
	return true
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
		t.expiry = time.AfterFunc(c.m.ttl, func() {
			c.m.mu.Lock()
			defer c.m.mu.Unlock()
			if c.silent || t.over {
				t.end(lock.ErrCutOff)
				c.m.remove(t)
			}
		})
	}
}

func (c *memoryClient) wake() {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.silent = false
	for _, t := range c.tenures {
		if t.expiry != nil && !t.over {
			t.expiry.Stop()
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
