package etcdlock_test

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// isolated is the KV of a client whose next request goes to a leader that is cut off. The leader
// answers that it took too long. carry is what becomes of the request.
type isolated struct {
	clientv3.KV
	carry func(put func() error)
}

func (k *isolated) Txn(ctx context.Context) clientv3.Txn {
	carry := k.carry
	if k.carry = nil; carry == nil {
		return k.KV.Txn(ctx)
	}
	return &late{k.KV.Txn(context.WithoutCancel(ctx)), carry}
}

type late struct {
	clientv3.Txn
	carry func(put func() error)
}

func (l *late) If(cs ...clientv3.Cmp) clientv3.Txn   { l.Txn.If(cs...); return l }
func (l *late) Then(ops ...clientv3.Op) clientv3.Txn { l.Txn.Then(ops...); return l }

func (l *late) Commit() (*clientv3.TxnResponse, error) {
	l.carry(func() error {
		_, err := l.Txn.Commit()
		return err
	})
	return nil, rpctypes.ErrTimeout
}

// TestLockAsksAnotherMember: where one says that a request took too long, Lock asks again, and
// keeps its place. Whatever became of the first request, no key is left after the unlock, also
// where another tenure keeps the lease.
func TestLockAsksAnotherMember(t *testing.T) {
	never, atOnce := func(func() error) {}, func(put func() error) {
		if err := put(); err != nil {
			t.Error(err)
		}
	}
	for name, carry := range map[string]func(func() error){
		"not carried out": never, "carried out": atOnce, "carried out after the unlock": nil,
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			a, b := s.join(t, long), s.join(t, long)
			afterwards := func() error { return nil }
			if carry == nil {
				carry = func(put func() error) { afterwards = put }
			}
			cut := &isolated{KV: a.client.KV, carry: never}
			a.client.KV = cut
			if _, err := a.TryLock(t.Context(), scope); !errors.Is(err, rpctypes.ErrTimeout) {
				t.Errorf("TryLock, which does not wait: %v, want etcd's error", err)
			}
			other, err := a.Lock(t.Context(), "/other")
			if err != nil {
				t.Fatal(err)
			}
			cut.carry = carry
			if err := a.mustLock(t).Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := afterwards(); err != nil {
				t.Fatal(err)
			}
			if err := b.mustLock(t).Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			b.queue(t, 0)
			if err := other.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnlockAsksAnotherMember: where one says that a request took too long, Unlock asks again. If the first one was carried out,
// nobody knows by which the key is gone.
func TestUnlockAsksAnotherMember(t *testing.T) {
	for done, want := range map[bool]fence.Outcome{false: fence.Definite, true: fence.Unknown} {
		s := newService(t)
		a, b := s.join(t, long), s.join(t, long)
		cut := &isolated{KV: a.client.KV}
		a.client.KV = cut
		tenure := a.mustLock(t)
		cut.carry = func(remove func() error) {
			if done {
				if err := remove(); err != nil {
					t.Error(err)
				}
			}
		}
		if err := tenure.Unlock(t.Context()); fence.OutcomeOf(err) != want || errors.Is(err, lock.ErrLost) {
			t.Errorf("carried out: %v: Unlock returned %v, %v, want %v", done, err, fence.OutcomeOf(err), want)
		}
		b.queue(t, 0)
	}
}

// leaseOnce is the Lease of a client whose first grant takes too long.
type leaseOnce struct {
	clientv3.Lease
	asked bool
}

func (l *leaseOnce) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	if !l.asked {
		l.asked = true
		return nil, rpctypes.ErrTimeoutDueToLeaderFail
	}
	return l.Lease.Grant(ctx, ttl)
}

// TestLockAsksForAnotherLease: also where the first one was not granted in time.
func TestLockAsksForAnotherLease(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	a.client.Lease = &leaseOnce{Lease: a.client.Lease}
	_, err := a.TryLock(t.Context(), scope)
	if !errors.Is(err, rpctypes.ErrTimeoutDueToLeaderFail) || fence.OutcomeOf(err) != fence.Definite || errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock, which does not wait: %v, want etcd's error", err)
	}
	a.client.Lease.(*leaseOnce).asked = false
	if err := a.mustLock(t).Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
