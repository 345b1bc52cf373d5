package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// Tenure is a tenure of a lock in etcd: a key that no other tenure ever has, on the
// lease of its Backend.
type Tenure struct {
	backend *Backend
	lease   *lease
	grant   lock.Grant
	stands  bool  // etcd has said that the key was put
	puts    int64 // so many requests to put it were sent
	missing int64 // of these, so many were not carried out when the lock was granted, and may be later
	header  int64 // the revision of the answer that granted the lock

	life attempt.Life // ends with the lease's, and with its cause
	back sync.Once    // gives back the lease
}

var _ lock.Renewer = (*Tenure)(nil)

// newTenure names the key that the tenure will have.
func newTenure(b *Backend, l *lease, scope string, mode fence.Mode) *Tenure {
	t := &Tenure{backend: b, lease: l}
	key := fmt.Sprintf("%s%x-%x", Prefix(scope), l.id, l.keys.Add(1))
	if mode == fence.Shared {
		key += sharedSuffix
	}
	t.grant = lock.Grant{Scope: scope, Owner: key, Mode: mode}
	t.life.Begin(l.life)
	return t
}

// Grant returns what was granted. The owner is the key, in full; the token is
// its create revision.
func (t *Tenure) Grant() lock.Grant { return t.grant }

// Done is closed by Unlock, and when the lease is over for all of its tenures: when
// etcd says so, or when for the TTL no renewal was answered, which is noticed up to
// a second late. A key that somebody deletes by hand is not noticed.
func (t *Tenure) Done() <-chan struct{} { return t.life.Done() }

// Err is as lock.Tenure says. A holder that stood still for longer than the TTL is
// cut off: what etcd has said meanwhile it has not heard.
func (t *Tenure) Err() error { return t.life.Err() }

// UnorderedLeaseID returns the ID of the lease that the tenure stands on, as do
// others of its Backend: a key that is attached to it does not go with the tenure. It
// is no token: it begins with two bytes of the ID of the
// member that granted it, so that of two leases from two members the later one may
// be the smaller. The other bytes are the time at which that member started and a
// counter.
// Source: etcd, pkg/idutil, and EtcdServer.LeaseGrant.
func (t *Tenure) UnorderedLeaseID() int64 { return int64(t.lease.id) }

// HeaderRevision returns the revision at which etcd answered that the lock is
// granted, as that of Mutex.Header of package concurrency. It grows from grant to
// grant as the token does, and is no token beside tokens: it is higher than
// those of tenures that have been waiting meanwhile, and would fence them out.
func (t *Tenure) HeaderRevision() int64 { return t.header }

// OnRenewal is as lock.Renewer says. The renewals are those of the lease, for all of its
// tenures. How long an answer took is not known. A renewal has failed where etcd's client, which
// tells of no failure, had no answer in time; the failure is told once, until the next answer.
func (t *Tenure) OnRenewal(f func(took time.Duration, err error)) {
	t.lease.renewals.Listen(t.life.Context(), f)
}

// Unlock deletes the key if it is still the one that the lock was granted with. It
// returns when ctx is done; give it a deadline. If a member of etcd says that it could not do
// what it was asked, Unlock asks again, and so another member. Where the outcome is unknown the key
// is removed in the background, as the package's documentation says.
func (t *Tenure) Unlock(ctx context.Context) error {
	// The Unlock of a concurrency.Mutex deletes without looking and returns nil for
	// a lost key.
	own := clientv3.Compare(clientv3.CreateRevision(t.grant.Owner), "=", int64(t.grant.Token))
	remove := func() (*clientv3.TxnResponse, error) {
		return t.lease.client.Txn(ctx).If(own).Then(clientv3.OpDelete(t.grant.Owner)).Commit()
	}
	resp, err := remove()
	t.life.Release()
	for first := err; unavailable(err) && rest(ctx) == nil; {
		if resp, err = remove(); err == nil && !resp.Succeeded {
			err = first // which may have removed the key
			break
		}
	}
	if err != nil {
		t.retire()
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: fmt.Errorf("etcdlock: %w", err)}
	}
	if t.missing > 0 {
		t.retire()
	} else {
		t.release()
	}
	if !resp.Succeeded {
		return fmt.Errorf("etcdlock: unlock %q, token %d: %w", t.grant.Scope, t.grant.Token, lock.ErrLost)
	}
	return nil
}

// gone reports whether the key is gone for good after a removal, which has deleted something or
// not: no request to put it is left that etcd may carry out.
func (t *Tenure) gone(deleted bool) bool {
	if t.stands {
		return t.missing == 0
	}
	return deleted && t.puts == 1
}

// release gives the lease back.
func (t *Tenure) release() { t.back.Do(func() { t.backend.release(t.lease) }) }

// retire gives the lease back, and has the key swept that may be on it still.
func (t *Tenure) retire() {
	t.back.Do(func() {
		t.backend.retire(t.lease)
		if t.lease.life.Err() == nil { // others need it
			go t.lease.sweep(t.grant.Owner, t.gone)
		}
	})
}

// abandon takes back what an attempt put into etcd that failed because of why. It
// returns why something may be left there.
func (t *Tenure) abandon(ctx context.Context, why error) error {
	t.life.Release()
	if context.Cause(t.lease.life) == lock.ErrLost || !t.stands && refused(why) {
		t.release()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, attempt.Cleanup)
	defer cancel()
	resp, err := t.lease.client.Delete(ctx, t.grant.Owner)
	if err == nil && t.gone(resp.Deleted > 0) {
		t.release()
		return nil
	}
	if err == nil {
		err = errors.New("it may be on its way")
	}
	t.retire()
	if context.Cause(t.lease.life) != errUnused {
		return err
	}
	select { // with the lease goes the key
	case <-t.lease.gone:
		return t.lease.left
	case <-ctx.Done():
		return err
	}
}
