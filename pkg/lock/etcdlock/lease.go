package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// lease is what tenures and attempts of one Backend stand on together.
type lease struct {
	client *clientv3.Client // the caller's
	opened chan struct{}    // closed when id is set, or when there will be none
	id     clientv3.LeaseID
	ttl    time.Duration // as etcd granted it

	life context.Context // of its renewal. Its cause is ErrLost, ErrCutOff, errUnused, or why it was not opened
	end  context.CancelCauseFunc
	gone chan struct{} // closed after its end, when nothing more is done about it
	left error         // then: why etcd may have it still, though nobody needs it

	renewals attempt.Renewals
	renewed  atomic.Int64 // when an answer to a renewal came last, as time since began
	began    time.Time
	keys     atomic.Int64 // how many were named after it

	// Guarded by the Backend's mu.
	users   int // tenures and attempts
	retired bool
	idle    *time.Timer // ends it when nobody needed it for long
}

// renewTimeout bounds a renewal at a grant. Without a connection etcd's client tries it
// again without a pause.
const renewTimeout = 2 * time.Second

// errUnused is why a lease ends that nobody needs any more.
var errUnused = errors.New("nobody needs the lease")

// errNoAnswer is how a renewal fails, of which etcd's client says nothing.
var errNoAnswer = errors.New("etcdlock: renew the lease: no answer in time")

// lend gives an attempt the lease to stand on. It has to be given back by release
// or by retire.
func (b *Backend) lend(ctx context.Context) (*lease, error) {
	b.mu.Lock()
	if b.lease == nil || b.lease.life.Err() != nil {
		b.lease = b.open()
	}
	l := b.lease
	l.users++
	l.idle.Stop()
	b.mu.Unlock()
	select {
	case <-l.opened:
	case <-ctx.Done():
		b.release(l)
		return nil, ctx.Err()
	}
	if l.id == clientv3.NoLease {
		b.release(l)
		return nil, context.Cause(l.life)
	}
	return l, nil
}

// release gives a lease back. One that nobody else needs ends: after a while, or at
// once where no attempt is to get it any more, or where it is not there yet.
func (b *Backend) release(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.users--
	switch {
	case l.users > 0:
	case l.retired, !isClosed(l.opened):
		l.end(errUnused)
	default:
		l.idle.Reset(b.ttl)
	}
}

// retire gives a lease back on which a key may be that nobody answers for. No
// attempt gets it any more, so that it ends with those who need it now.
func (b *Backend) retire(l *lease) {
	b.mu.Lock()
	if b.lease == l {
		b.lease = nil
	}
	l.retired = true
	b.mu.Unlock()
	b.release(l)
}

// open begins a lease.
func (b *Backend) open() *lease {
	l := &lease{client: b.client, opened: make(chan struct{}), gone: make(chan struct{}), began: time.Now()}
	l.life, l.end = context.WithCancelCause(b.client.Ctx())
	l.idle = time.AfterFunc(b.ttl, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if l.users == 0 {
			l.end(errUnused)
		}
	})
	go l.live(b.ttl)
	return l
}

// live has the lease granted, renews it to its end, and has etcd end it, too, where
// nobody needed it any more.
func (l *lease) live(ttl time.Duration) {
	defer close(l.gone)
	asked := time.Now()
	granted, err := l.client.Grant(l.life, int64(ttl/time.Second))
	if err != nil {
		l.end(err)
		close(l.opened)
		return
	}
	l.id, l.ttl = granted.ID, time.Duration(granted.TTL)*time.Second
	l.heard(asked)
	close(l.opened)
	l.end(l.renew())
	if context.Cause(l.life) == errUnused {
		ctx, cancel := context.WithTimeout(l.client.Ctx(), attempt.Cleanup)
		defer cancel()
		if _, err := l.client.Revoke(ctx, l.id); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			l.left = err
		}
	}
}

// renew renews the lease until its life ends, and returns why it ended.
func (l *lease) renew() error {
	late := time.NewTimer(overdue(l.ttl))
	defer late.Stop()
	over := time.NewTimer(l.ttl - l.age())
	defer over.Stop()
	for {
		answers, err := l.client.KeepAlive(l.life, l.id)
		if err != nil {
			return lock.ErrCutOff
		}
		// Etcd's client gives up where its first question has no answer for some seconds, 1 s or
		// more (firstKeepAliveTimeout), and later when a TTL has passed since the last answer came,
		// which may be heard late. What closes the channel well before that is etcd's word.
		until := time.Now().Add(time.Second)
		for more := true; more; {
			select {
			case <-l.life.Done(): // etcd's client may not close answers where it is closed at the first renewal
				return context.Cause(l.life)
			case <-over.C:
				return lock.ErrCutOff
			case <-late.C:
				l.renewals.Tell(0, errNoAnswer)
			case _, more = <-answers:
				switch {
				case more:
					l.heard(time.Now())
					until = time.Now().Add(l.ttl * 3 / 4)
					over.Reset(l.ttl)
					late.Reset(overdue(l.ttl))
					l.renewals.Tell(0, nil)
				case time.Now().Before(until): // etcd has said that the lease is over
					return lock.ErrLost
				}
			}
		}
	}
}

// overdue is after how long without an answer a renewal has failed. etcd's client asks for
// one after a third of the TTL, up to half a second late. A tenth is for the answer.
func overdue(ttl time.Duration) time.Duration { return ttl/3 + time.Second/2 + ttl/10 }

// heard notes when etcd renewed the lease.
func (l *lease) heard(at time.Time) { l.renewed.Store(int64(at.Sub(l.began))) }

// age is for how long the lease has not been renewed.
func (l *lease) age() time.Duration { return time.Since(l.began) - time.Duration(l.renewed.Load()) }

// freshen renews the lease if that was not done for a third of the TTL.
func (l *lease) freshen(ctx context.Context) error {
	asked := time.Now()
	if l.age() <= l.ttl/3 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, renewTimeout)
	defer cancel()
	if _, err := l.client.KeepAliveOnce(ctx, l.id); err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	l.heard(asked)
	return nil
}

// sweep removes a key that no tenure needs, for as long as the lease lives, or until the key is
// gone for good: that says gone, which is told whether etcd has deleted something. A lease that
// etcd renews, though for a TTL it answered no removal, is ended.
func (l *lease) sweep(key string, gone func(deleted bool) bool) {
	for answered := time.Now(); l.life.Err() == nil; {
		ctx, cancel := context.WithTimeout(l.life, l.ttl)
		resp, err := l.client.Delete(ctx, key)
		cancel()
		switch {
		case err == nil && gone(resp.Deleted > 0):
			return
		case err == nil:
			l.await(key, resp.Header.Revision+1)
			answered = time.Now()
		case time.Since(answered) >= l.ttl:
			l.end(lock.ErrCutOff)
		default:
			_ = attempt.Sleep(l.life, l.ttl/10)
		}
	}
}

// await returns when there is news of a key since a revision, or none to be had.
func (l *lease) await(key string, revision int64) {
	ctx, cancel := context.WithCancel(l.life)
	defer cancel()
	for news := range l.client.Watch(ctx, key, clientv3.WithRev(revision)) {
		if len(news.Events) > 0 || news.Err() != nil {
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
