// Package etcdlock is a lock.Backend and a lock.Sharer on etcd. Its locks are queues
// of keys, as those of go.etcd.io/etcd/client/v3/concurrency are, and so it shares its
// locks with mutexes of that package and with "etcdctl lock".
//
// The token is the create revision of the holder's key. It is the holder's
// ticket in the queue: the lock is granted in its order.
//
// # Readers and writers
//
// RLock and TryRLock take a lock shared, Lock and TryLock take it alone. Both stand in
// one queue, so tokens grow over both modes. A writer waits for all keys before its own;
// a reader waits only for those of writers. So readers next to each other hold the lock
// together, and no reader overtakes a writer that waits.
//
// The key of a reader ends with "-shared"; ModeOf tells. All other keys are those of
// writers, also those of package concurrency and of "etcdctl lock": their mutexes wait
// for readers, and readers wait for them. A version of this package that knows no readers
// does the same.
//
// # One lease, a key for each tenure
//
// The tenures of one Backend stand on one lease, which is kept while one of them
// or an attempt needs it, and for a TTL longer. So a lock and its unlock cost one
// transaction each, as those of a concurrency.Mutex in a session that is kept.
//
// Each attempt has a key of its own, that no other attempt ever has. Two mutexes on
// one session share a key, and with it the lock (etcd issue 11364), and an unlock
// of one of their tenures that comes late frees a later one (22082). Neither
// happens here: two tenures of one Backend exclude each other, and Unlock deletes
// the key of its own tenure alone.
//
// What a shared lease means:
//
//   - A lease that is lost, because it ran out or somebody revoked it, is the loss of
//     all tenures that stand on it. Each holder is told. The next attempt gets a new
//     lease.
//   - At a grant, and where a wait begins, the last renewal of the lease, by the time at
//     which its answer came, is no older than a third of the TTL; else the lease is
//     renewed first. So a tenure begins with two thirds of the TTL, and with the whole
//     of it only where its lease is new.
//   - Where it is unknown what etcd has done with a key, no new attempt gets the lease,
//     and the key is removed in the background. Where etcd renews the lease and yet
//     answers no removal for a TTL, the lease is let go with all its tenures, so that
//     the lock is free after another TTL.
//
// Who wants tenures that cannot be lost together makes a Backend for each.
//
// # Who holds a lock
//
// The value of a key has the words of its holder (lock.WithWords). A mutex of package
// concurrency has an empty value, and reads none. Inspect tells all that stand in the queue.
//
// # Names
//
// The keys of a scope are those below the scope and a slash that begin with the hexadecimal
// number of the lease that they are on, and have no further slash. Other keys there are an
// application's, and no place in the queue. For a mutex of package concurrency they are all below: a mutex named
// "/lock" waits for holders of "/lock/a", too, which a Backend does not.
package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Backend takes locks through one etcd client. It makes tenures of the concrete
// type *Tenure. It needs no closing: a lease that nobody needs ends by itself.
type Backend struct {
	client *clientv3.Client
	ttl    time.Duration

	mu    sync.Mutex
	lease *lease // what the next attempt gets; nil, or over: it gets a new one
}

var (
	_ lock.Backend   = (*Backend)(nil)
	_ lock.Sharer    = (*Backend)(nil)
	_ lock.Inspector = (*Backend)(nil)
)

// New returns a backend whose locks outlive a crash of their holder by ttl, plus
// what etcd's clock adds: up to half a second by the server's scan for expired
// leases, and for a new leader another ttl. The ttl has to be of whole seconds,
// and etcd raises it to one and a half of its election timeouts.
//
// The client stays the caller's to close; closing it is a crash for all tenures
// that were not released.
func New(client *clientv3.Client, ttl time.Duration) (*Backend, error) {
	if client == nil {
		return nil, fence.Definite.New("etcdlock: the client is nil, want one of etcd")
	}
	if ttl < time.Second || ttl%time.Second != 0 {
		return nil, fence.Definite.New(fmt.Sprintf("etcdlock: a TTL of %v, want whole seconds, 1s or more", ttl))
	}
	return &Backend{client: client, ttl: ttl}, nil
}

// Prefix returns the beginning of the keys of scope. Of those that have no further
// slash the one with the lowest create revision is a holder's. Where it is that of a
// reader, so are the readers' keys next to it. The others are those of waiters, in order.
func Prefix(scope string) string { return scope + "/" }

// sharedSuffix ends the keys of readers.
const sharedSuffix = "-shared"

// ModeOf returns how the tenure of a key below Prefix holds its lock, or will hold it.
func ModeOf(key string) fence.Mode {
	if strings.HasSuffix(key, sharedSuffix) {
		return fence.Shared
	}
	return fence.Exclusive
}

// TryLock is as lock.Backend says. While it fails it stands in the queue for a
// moment, so that of two attempts on a free lock that come together both may be
// told ErrLocked.
func (b *Backend) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryLock)
}

// Lock is as lock.Backend says. If a member of etcd says that it could not do what it was
// asked, Lock asks again, and so another member, until ctx is done. Where the lease of the waiter ends, because etcd
// could not be reached for long, it returns concurrency.ErrSessionExpired.
// When ctx is done, Lock and TryLock need at most 2 s more, to remove what they
// have put into etcd.
func (b *Backend) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.Lock)
}

// TryRLock is as lock.Sharer says. It returns ErrLocked also where a writer only waits,
// and where a TryLock that fails stands in the queue.
func (b *Backend) TryRLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.TryRLock)
}

// RLock is as lock.Sharer says, and else as Lock. It waits for the writers that came
// before, those that wait included.
func (b *Backend) RLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return b.attempt(ctx, scope, attempt.RLock)
}

var errZero = fence.Definite.New("etcdlock: this Backend was not made by New")

var errEmpty = fmt.Errorf("%w: it is empty", fence.ErrInvalidScope)

func (b *Backend) attempt(ctx context.Context, scope string, how attempt.Way) (lock.Tenure, error) {
	if b.client == nil {
		return nil, errZero
	}
	if scope == "" {
		return nil, fmt.Errorf("etcdlock: %s: %w", how.Op, errEmpty)
	}
	t, left, err := b.try(ctx, scope, how)
	if errors.Is(err, errLeaseOver) { // nobody had noticed before; the next one is new
		t, left, err = b.try(ctx, scope, how)
	}
	switch {
	case err == nil:
		return t, nil
	case errors.Is(err, errLeaseOver):
		err = concurrency.ErrSessionExpired
	}
	return nil, attempt.Attempt{Package: "etcdlock", Way: how, Scope: scope}.Failed(ctx, err, "its key may be left", left)
}

// try takes the lock on the lease that there is. left is why a key of the attempt
// may be left in etcd.
func (b *Backend) try(ctx context.Context, scope string, how attempt.Way) (t *Tenure, left, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	l, err := b.lend(ctx)
	for how.Wait && unavailable(err) && rest(ctx) == nil {
		l, err = b.lend(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	late, stop := attempt.Afterwards(ctx)
	defer stop()
	t = newTenure(b, l, scope, how.Mode)
	if err := t.take(ctx, late, how.Wait); err != nil {
		return nil, t.abandon(late, err), err
	}
	return t, nil, nil
}
