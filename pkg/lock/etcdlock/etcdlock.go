// Package etcdlock is a lock.Backend on etcd. It uses the session of
// go.etcd.io/etcd/client/v3/concurrency, and the keys of its mutex, and so shares
// its locks with them and with "etcdctl lock".
//
// The token is the create revision of the holder's key. It is the holder's
// ticket in the queue: the lock is granted in its order.
//
// Each tenure has a session, that is a lease, of its own. Two mutexes on one
// session would own the same key (etcd issue 11364), and an unlock of one
// tenure that comes late could free a later one (22082).
//
// The keys of a scope are those below the scope and a slash that have no further
// slash. For a mutex of package concurrency they are all below: a mutex named
// "/lock" waits for holders of "/lock/a", too, which a Backend does not.
package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/pkg/lock"
)

// cleanupTimeout bounds how long a failed attempt takes to remove what it left
// in etcd, after the caller's context is done.
const cleanupTimeout = 2 * time.Second

// Backend takes locks through one etcd client. It makes tenures of the concrete
// type *Tenure.
type Backend struct {
	client *clientv3.Client
	ttl    int // in seconds
}

var _ lock.Backend = (*Backend)(nil)

// New returns a backend whose locks outlive a crash of their holder by ttl, plus
// what etcd's clock adds: up to half a second by the server's scan for expired
// leases, and for a new leader another ttl. The ttl has to be of whole seconds,
// and etcd raises it to one and a half of its election timeouts.
//
// The client stays the caller's to close; closing it is a crash for all tenures
// that were not released. Its DialTimeout plus 1 s, or 5 s where it is 0, is
// also how long a new tenure may take to notice that etcd cannot be reached.
func New(client *clientv3.Client, ttl time.Duration) (*Backend, error) {
	if ttl < time.Second || ttl%time.Second != 0 {
		return nil, fmt.Errorf("etcdlock: a TTL of %v, want whole seconds, 1s or more", ttl)
	}
	return &Backend{client: client, ttl: int(ttl / time.Second)}, nil
}

// Prefix returns the beginning of the keys of scope. Of those that have no further
// slash the one with the lowest create revision is the holder's, and the others
// are those of waiters, in order.
func Prefix(scope string) string { return scope + "/" }

// TryLock is as lock.Backend says. While it fails it stands in the queue for a
// moment, so that of two attempts on a free lock that come together both may be
// told ErrLocked.
func (b *Backend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, "trylock", false)
}

// Lock is as lock.Backend says. Where the session of the waiter expires, because
// etcd could not be reached for long, it returns concurrency.ErrSessionExpired.
// When ctx is done, Lock and TryLock need at most 2 s more, to remove what they
// have put into etcd.
func (b *Backend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, "lock", true)
}

func (b *Backend) attempt(ctx context.Context, scope, op string, wait bool) (lock.Tenure, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("etcdlock: %s %q: %w", op, scope, err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	t, err := b.open(life, end)
	if err == nil {
		err = t.take(scope, wait)
	}
	if stop() && err == nil {
		return t, nil
	}

	end()
	if ctx.Err() != nil { // what caused err rather than how it came out of etcd's client
		err = ctx.Err()
	}
	err = fmt.Errorf("etcdlock: %s %q: %w", op, scope, err)
	if t == nil {
		return nil, err // at most a lease is left, without a key
	}
	if left := t.abandon(ctx); left != nil {
		return nil, &lock.UnknownError{Op: op, Scope: scope,
			Err: fmt.Errorf("%w; and its lease may be left: %w", err, left)}
	}
	return nil, err
}

// Tenure is a tenure of a lock in etcd: a lease and a key that is attached to it.
type Tenure struct {
	grant    lock.Grant
	client   *clientv3.Client // the caller's
	session  *concurrency.Session
	renewals *renewals
	end      context.CancelFunc // of the session's renewal
	header   int64              // the revision of the answer that granted the lock
}

var _ lock.Tenure = (*Tenure)(nil)

// open starts a session that is renewed until life ends. Everything that
// concurrency does with its client's own context, such as the removal of the
// key of a cancelled Lock, must end with life too, and not only with the
// connection: hence a client that shares the connection and has life as its
// context.
func (b *Backend) open(life context.Context, end context.CancelFunc) (*Tenure, error) {
	c := clientv3.NewCtxClient(life, clientv3.WithZapLogger(b.client.GetLogger()))
	r := &renewals{Lease: b.client.Lease, client: b.client}
	c.KV, c.Lease, c.Watcher = b.client.KV, r, b.client.Watcher
	session, err := concurrency.NewSession(c, concurrency.WithTTL(b.ttl))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(session.Ctx(), end)
	return &Tenure{client: b.client, session: session, renewals: r, end: end}, nil
}

// abandon takes back what a failed attempt put into etcd. With the lease goes
// the key.
func (t *Tenure) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	t.session.Orphan()
	_, err := t.client.Revoke(ctx, t.session.Lease())
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// Grant returns what was granted. The owner is the key, in full; the token is
// its create revision.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed when the session ends: by Unlock, when etcd says that the lease
// is over, or when for the TTL no renewal was answered, which is noticed up to a
// second late. A key that somebody deletes by hand is not noticed.
func (t *Tenure) Done() <-chan struct{} { return t.session.Done() }

// Err is as lock.Tenure says. A holder that stood still for longer than the TTL is
// cut off: what etcd has said meanwhile it has not heard.
func (t *Tenure) Err() error {
	select {
	case <-t.session.Done():
		return t.renewals.err
	default:
		return nil
	}
}

// UnorderedLeaseID returns the ID of the tenure's lease. It tells tenures apart,
// and is no token: it begins with two bytes of the ID of the member that granted
// it, so that of two leases from two members the later one may be the smaller.
// The other bytes are the time at which that member started and a counter.
// Source: etcd, pkg/idutil, and EtcdServer.LeaseGrant.
func (t *Tenure) UnorderedLeaseID() int64 { return int64(t.session.Lease()) }

// HeaderRevision returns the revision at which etcd answered that the lock is
// granted, as that of Mutex.Header of package concurrency. It grows from grant to
// grant as the token does, and is no token beside tokens: it is higher than
// those of tenures that have been waiting meanwhile, and would fence them out.
func (t *Tenure) HeaderRevision() int64 { return t.header }

// Unlock deletes the key if it is still the one that the lock was granted with,
// and then the lease. It returns when ctx is done; give it a deadline.
func (t *Tenure) Unlock(ctx context.Context) error {
	// The Unlock of a concurrency.Mutex deletes without looking and returns nil for
	// a lost key. A key is of one lease and a lease of one tenure, so this deletes
	// no other's.
	own := clientv3.Compare(clientv3.CreateRevision(t.grant.Owner), "=", int64(t.grant.Token))
	resp, err := t.client.Txn(ctx).If(own).Then(clientv3.OpDelete(t.grant.Owner)).Commit()
	// Whatever happened: a lock that nobody can unlock any more must not be renewed.
	t.end()
	<-t.session.Done()
	if err != nil {
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("etcdlock: %w", err)}
	}
	// A lease without a key locks nothing; where this fails it expires.
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	_, _ = t.client.Revoke(ctx, t.session.Lease())
	if !resp.Succeeded {
		return fmt.Errorf("etcdlock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}
