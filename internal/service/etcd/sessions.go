package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

func (c *client) keepsSession() bool { return c.settings.Text(setting.Session) == sessionKept }

func (c *client) timeout() time.Duration { return c.settings.Time(setting.Timeout) }

// session is one of package concurrency, used as many programs do.
type session struct {
	*concurrency.Session
	of   *client
	own  bool // a tenure's, and ends with it
	lent bool // its lease is somebody else's to revoke
}

// openSession makes a session with a lease of its own, or on one that there is.
func (c *client) openSession(ctx context.Context, lease clientv3.LeaseID) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	alive := clientv3.NewCtxClient(life, clientv3.WithZapLogger(c.etcd.GetLogger()))
	alive.KV, alive.Lease, alive.Watcher = &mutexKV{c.etcd.KV, c.timeout()}, c.etcd.Lease, c.etcd.Watcher
	s, err := concurrency.NewSession(alive, concurrency.WithTTL(int(c.settings.Time(setting.TTL)/time.Second)), concurrency.WithLease(lease))
	if err != nil {
		end()
		return nil, fence.Definite.Wrap(fmt.Errorf("open a session: %w", errors.Join(err, ctx.Err())))
	}
	context.AfterFunc(s.Ctx(), end)
	stop()
	return &session{Session: s, of: c, lent: lease != clientv3.NoLease}, nil
}

// close ends the session, and with its lease all its locks.
func (s *session) close(ctx context.Context) error {
	s.Orphan()
	if s.lent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.of.timeout())
	defer cancel()
	_, err := s.of.etcd.Revoke(ctx, s.Lease())
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// mutexKV is what a concurrency.Mutex reads and writes by. The first Get that it does is the beginning
// of the wait for those before it, which nothing else tells: it calls the function that the context
// has for waitsKey. A Delete, with which it gives up or unlocks, has a timeout.
type mutexKV struct {
	clientv3.KV
	timeout time.Duration
}

type waitsKey struct{}

func (k *mutexKV) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if waits, ok := ctx.Value(waitsKey{}).(func()); ok {
		waits()
	}
	return k.KV.Get(ctx, key, opts...)
}

func (k *mutexKV) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	return k.KV.Delete(ctx, key, opts...)
}

// mutexTenure is a tenure by a concurrency.Mutex, used as many programs do, and without the care of
// etcdlock: where a session is kept, Unlock deletes the key whatever tenure it is of by then.
type mutexTenure struct {
	session *session
	mutex   *concurrency.Mutex
	waits   chan struct{} // closed when it stands in the queue

	// Set by the goroutine that runs Mutex.Lock, and never again: before waits is closed, or before
	// Lock returns. Only that goroutine may touch the mutex till then, IsOwner included.
	grant   lock.Grant
	isOwner clientv3.Cmp // Mutex.IsOwner

	header atomic.Int64 // the revision of the answer that granted the lock; 0 before
}

var _ queuing = (*mutexTenure)(nil)

func (t *mutexTenure) stands() <-chan struct{} { return t.waits }

func (c *client) openMutex(ctx context.Context, scope string, lease clientv3.LeaseID) (*mutexTenure, error) {
	s, err := c.sessionFor(ctx, lease)
	if err != nil {
		return nil, err
	}
	return &mutexTenure{
		session: s, mutex: concurrency.NewMutex(s.Session, scope), waits: make(chan struct{}),
		grant: lock.Grant{Scope: scope},
	}, nil
}

func (c *client) sessionFor(ctx context.Context, lease clientv3.LeaseID) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := lease == clientv3.NoLease && !c.keepsSession()
	if k := c.kept; k != nil && !own && !service.IsClosed(k.Done()) && (lease == clientv3.NoLease || lease == k.Lease()) {
		return k, nil
	}
	s, err := c.openSession(ctx, lease)
	if err != nil {
		return nil, err
	}
	if s.own = own; !own {
		c.kept, c.sessions = s, append(c.sessions, s)
	}
	return s, nil
}

// take waits for the lock, or tries it. With an error a session of its own is closed.
func (t *mutexTenure) take(ctx context.Context, op string) error {
	do := t.mutex.Lock
	if op == opTryLock {
		do = t.mutex.TryLock
	}
	place := sync.OnceFunc(func() {
		t.isOwner = t.mutex.IsOwner()
		t.grant.Owner = t.mutex.Key()
		t.grant.Token = fence.Token(t.isOwner.GetCompare().GetCreateRevision())
		close(t.waits)
	})
	err := do(context.WithValue(ctx, waitsKey{}, place))
	if err == nil {
		place()
		t.header.Store(t.mutex.Header().Revision)
		return nil
	}
	var left error // what may be left in etcd
	if t.session.own {
		left = t.session.close(context.WithoutCancel(ctx))
	} else if !isDefinite(err) {
		left = t.leave(context.WithoutCancel(ctx))
	}
	if errors.Is(err, concurrency.ErrLocked) {
		err = lock.ErrLocked
	}
	if left != nil {
		return &lock.UnknownError{Op: op, Scope: t.grant.Scope, Err: errors.Join(err, left)}
	}
	return fence.Definite.Wrap(err)
}

// leave takes back its key from a session that goes on. With an error the key may be left.
func (t *mutexTenure) leave(ctx context.Context) error {
	if !service.IsClosed(t.waits) {
		return errors.New("its session goes on")
	}
	ctx, cancel := context.WithTimeout(ctx, t.session.of.timeout())
	defer cancel()
	_, err := t.session.of.etcd.Txn(ctx).If(t.isOwner).Then(clientv3.OpDelete(t.grant.Owner)).Commit()
	return err
}

// isDefinite: with err a mutex has left nothing in its session.
func isDefinite(err error) bool {
	return errors.Is(err, concurrency.ErrLocked) || errors.Is(err, concurrency.ErrSessionExpired) ||
		errors.Is(err, rpctypes.ErrLeaseNotFound)
}

func (t *mutexTenure) Grant() lock.Grant { return t.grant }

func (t *mutexTenure) Done() <-chan struct{} { return t.session.Done() }

// Err cannot say more: a session does not tell why it ended.
func (t *mutexTenure) Err() error {
	if service.IsClosed(t.Done()) {
		return lock.ErrCutOff
	}
	return nil
}

func (t *mutexTenure) UnorderedLeaseID() int64 { return int64(t.session.Lease()) }

func (t *mutexTenure) HeaderRevision() int64 { return t.header.Load() }

// Unlock is Mutex.Unlock: it does not look whether the key is there, and of which tenure.
func (t *mutexTenure) Unlock(ctx context.Context) error {
	err := t.mutex.Unlock(ctx)
	if t.session.own {
		_ = t.session.close(ctx) // else the lease runs out
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, concurrency.ErrLockReleased):
		return fence.Definite.Wrap(err)
	}
	return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: err}
}
