package etcdlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/pkg/v3/idutil"
	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

const (
	scope = "/lock"
	long  = time.Minute // a TTL for tests in which nothing is to expire

	deadline = 2 * time.Minute // for what is sure to happen
)

// party is one client of a service, with a backend.
type party struct {
	*etcdlock.Backend
	client *clientv3.Client
	link   *link
}

func (s *service) join(t *testing.T, ttl time.Duration) party {
	t.Helper()
	client, l, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.mend(); client.Close() })
	b, err := etcdlock.New(client, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return party{b, client, l}
}

func (p party) mustLock(t *testing.T) *etcdlock.Tenure {
	t.Helper()
	tenure, err := p.Lock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure.(*etcdlock.Tenure)
}

// queue returns the keys of the scope, the holder's first, once there are n.
func (p party) queue(t *testing.T, n int) []*mvccpb.KeyValue {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var last []*mvccpb.KeyValue
	for {
		got, err := p.client.Get(ctx, etcdlock.Prefix(scope), clientv3.WithPrefix(),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		if err != nil {
			t.Fatalf("waiting for %d keys of %v: %v", n, last, err)
		}
		if len(got.Kvs) == n {
			return got.Kvs
		}
		last = got.Kvs
		watch, stop := context.WithCancel(ctx)
		<-p.client.Watch(watch, etcdlock.Prefix(scope), clientv3.WithPrefix(), clientv3.WithRev(got.Header.Revision+1))
		stop()
	}
}

// inBackground returns a channel with what take returns.
func inBackground(ctx context.Context, take func(context.Context, string) (lock.Tenure, error)) <-chan result {
	c := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		tenure, err := take(ctx, scope)
		c <- result{tenure, err}
	}()
	return c
}

func (p party) lockInBackground(ctx context.Context) <-chan result { return inBackground(ctx, p.Lock) }

type result struct {
	tenure lock.Tenure
	err    error
}

func TestNewRejectsTTLsThatEtcdWouldRound(t *testing.T) {
	for _, ttl := range []time.Duration{-time.Second, 0, time.Millisecond, 1500 * time.Millisecond} {
		if _, err := etcdlock.New(nil, ttl); err == nil {
			t.Errorf("New accepts a TTL of %v", ttl)
		}
	}
}

// TestKeysOfOthers: what an application keeps below a scope is no place in its queue.
func TestKeysOfOthers(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	lease, err := a.client.Grant(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	for key, options := range map[string][]clientv3.OpOption{
		"7": nil, "1f-note": nil, "address": {clientv3.WithLease(lease.ID)}, "7f/lock": {clientv3.WithLease(lease.ID)},
	} {
		if _, err := a.client.Put(t.Context(), etcdlock.Prefix(scope)+key, "", options...); err != nil {
			t.Fatal(err)
		}
	}
	if tenure, err := a.TryLock(t.Context(), scope); err != nil {
		t.Error(err)
	} else if err := tenure.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRefusedScope(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	for _, take := range []func(context.Context, string) (lock.Tenure, error){a.Lock, a.TryLock, a.RLock, a.TryRLock} {
		if _, err := take(t.Context(), ""); !errors.Is(err, fence.ErrInvalidScope) || fence.OutcomeOf(err) != fence.Definite {
			t.Errorf("got %v, want ErrInvalidScope", err)
		}
	}
}

func TestTokenIsTheCreateRevisionOfTheHoldersKey(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	first := a.mustLock(t)
	second := b.lockInBackground(t.Context())
	keys := a.queue(t, 2)
	if _, err := a.client.Put(t.Context(), "unrelated", ""); err != nil {
		t.Fatal(err)
	}
	if err := first.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := <-second
	if r.err != nil {
		t.Fatal(r.err)
	}
	for i, got := range []*etcdlock.Tenure{first, r.tenure.(*etcdlock.Tenure)} {
		g := got.Grant()
		if int64(g.Token) != keys[i].CreateRevision || g.Owner != string(keys[i].Key) || g.Scope != scope {
			t.Errorf("grant %+v is of key %v", g, keys[i])
		}
		if got.UnorderedLeaseID() != keys[i].Lease || g.Owner != fmt.Sprintf("%s%x-1", etcdlock.Prefix(scope), keys[i].Lease) {
			t.Errorf("lease %x and owner %s are of key %v", got.UnorderedLeaseID(), g.Owner, keys[i])
		}
	}
}

// The lease ID of a grant begins with bytes of the member; two members' IDs are
// therefore not in the order of time.
func TestLeaseIDsAreNotInOrder(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	id := uint64(a.mustLock(t).UnorderedLeaseID())
	got, err := a.client.Get(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	member := got.Header.MemberId
	// The two lowest bytes, less the sign.
	if got, want := id>>48, member&0x7fff; got != want {
		t.Errorf("lease %x of member %x begins with %x, want %x", id, member, got, want)
	}
	now := time.Now()
	earlier := idutil.NewGenerator(2, now).Next()
	later := idutil.NewGenerator(1, now.Add(time.Hour)).Next()
	if later >= earlier {
		t.Errorf("member 1's ID %x, an hour later, is not smaller than member 2's %x", later, earlier)
	}
}

func TestWaiterIsToldThatItsSessionExpired(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, brief)
	holder := a.mustLock(t)
	waiting := b.lockInBackground(t.Context())
	waiter := a.queue(t, 2)[1]
	if _, err := a.client.Revoke(t.Context(), clientv3.LeaseID(waiter.Lease)); err != nil {
		t.Fatal(err)
	}
	if r := <-waiting; !errors.Is(r.err, concurrency.ErrSessionExpired) {
		t.Errorf("Lock returned %v, want ErrSessionExpired", r.err)
	}
	if err := holder.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWaiterThatIsCutOffStopsWaiting(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a, b := s.join(t, long), s.join(t, brief)
	a.mustLock(t)
	waiting := b.lockInBackground(t.Context())
	a.queue(t, 2)
	b.link.cut()
	r := <-waiting
	if unknown := new(lock.UnknownError); !errors.Is(r.err, concurrency.ErrSessionExpired) || !errors.As(r.err, &unknown) {
		t.Errorf("Lock returned %v, want ErrSessionExpired and that its lease may be left", r.err)
	}
	a.queue(t, 1)
}

func TestGrantNeedsTheKeyToBeThere(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	held := a.mustLock(t)
	waiting := b.lockInBackground(t.Context())
	waiter := a.queue(t, 2)[1]
	if _, err := a.client.Delete(t.Context(), string(waiter.Key)); err != nil {
		t.Fatal(err)
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-waiting; !errors.Is(r.err, concurrency.ErrSessionExpired) {
		t.Errorf("Lock returned %v, %v, want ErrSessionExpired", r.tenure, r.err)
	}
}

func TestCancelledLockLeavesNoKey(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	a.mustLock(t)

	ctx, cancel := context.WithCancel(t.Context())
	waiting := b.lockInBackground(ctx)
	a.queue(t, 2)
	cancel()
	r := <-waiting
	if unknown := new(lock.UnknownError); !errors.Is(r.err, context.Canceled) || errors.As(r.err, &unknown) {
		t.Errorf("Lock returned %v, want that the context is cancelled, and nothing unknown", r.err)
	}
	if _, err := b.Lock(ctx, scope); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock with a context that is done returned %v", err)
	}
	if _, err := b.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock returned %v, want ErrLocked", err)
	}
	a.queue(t, 1)
}

func TestCancelledLockReturnsThoughEtcdIsSilent(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	a.mustLock(t)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := b.lockInBackground(ctx)
	a.queue(t, 2)
	b.link.cut()
	cancel()
	select {
	case r := <-waiting:
		if unknown := new(lock.UnknownError); !errors.Is(r.err, context.Canceled) || !errors.As(r.err, &unknown) {
			t.Errorf("Lock returned %v, want that the context is cancelled, and an UnknownError", r.err)
		}
	case <-time.After(deadline):
		t.Error("Lock waits for etcd though its context is done")
	}
}

func TestLockHonoursItsContextWhereEtcdIsDown(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := a.Lock(ctx, scope); err == nil {
		t.Error("Lock succeeded")
	}
}

func TestUnlockOfADeletedKeyIsALoss(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	tenure := a.mustLock(t)
	if _, err := a.client.Delete(t.Context(), tenure.Grant().Owner); err != nil {
		t.Fatal(err)
	}
	if err := tenure.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock returned %v, want ErrLost", err)
	}
}

func TestUnlockWhoseAnswerIsLostIsUnknown(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	reset := errors.New("connection reset")
	a.client.KV = &txns{KV: a.client.KV, after: func(n int) error {
		if n == 2 {
			return reset
		}
		return nil
	}}
	tenure := a.mustLock(t)
	err := tenure.Unlock(t.Context())
	unknown := new(lock.UnknownError)
	if !errors.As(err, &unknown) || !errors.Is(err, reset) || unknown.Op != "unlock" || unknown.Scope != scope {
		t.Errorf("Unlock returned %v, want an UnknownError with its cause", err)
	}
	<-tenure.Done()
	b.mustLock(t)
	if err := tenure.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("a second Unlock returned %v, want ErrLost", err)
	}
	b.queue(t, 1)
}

func TestClosingTheClientEndsTheTenure(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	tenure := a.mustLock(t)
	a.client.Close()
	<-tenure.Done()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if unknown := new(lock.UnknownError); !errors.As(tenure.Unlock(ctx), &unknown) {
		t.Error("Unlock through a closed client is not unknown")
	}
}

func TestTenuresLeaveNoGoroutines(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	round := func() {
		held := a.mustLock(t)
		ctx, cancel := context.WithCancel(t.Context())
		waiting := b.lockInBackground(ctx)
		a.queue(t, 2)
		cancel()
		<-waiting
		if _, err := b.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
			t.Error(err)
		}
		if err := held.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	// What a client keeps: the stream that all of its watches share which require a leader,
	// as long as there are any, and the one of the renewals. It opens them in the background:
	// an answer says that all of their goroutines run.
	for _, p := range []party{a, b} {
		<-p.client.Watch(clientv3.WithRequireLeader(t.Context()), "any", clientv3.WithCreatedNotify())
		lease, err := p.client.Grant(t.Context(), 60)
		if err != nil {
			t.Fatal(err)
		}
		renewals, err := p.client.KeepAlive(t.Context(), lease.ID)
		if err != nil {
			t.Fatal(err)
		}
		<-renewals
	}
	round()
	before := goleak.IgnoreCurrent()
	round()
	end := time.Now().Add(deadline)
	for err := goleak.Find(before); err != nil; err = goleak.Find(before) {
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// txns is a KV that calls after each transaction with its number.
type txns struct {
	clientv3.KV
	n     int
	after func(n int) error
}

func (k *txns) Txn(ctx context.Context) clientv3.Txn {
	k.n++
	return &txn{Txn: k.KV.Txn(ctx), kv: k, n: k.n}
}

type txn struct {
	clientv3.Txn
	kv *txns
	n  int
}

func (t *txn) If(c ...clientv3.Cmp) clientv3.Txn  { t.Txn.If(c...); return t }
func (t *txn) Then(o ...clientv3.Op) clientv3.Txn { t.Txn.Then(o...); return t }
func (t *txn) Else(o ...clientv3.Op) clientv3.Txn { t.Txn.Else(o...); return t }
func (t *txn) Commit() (*clientv3.TxnResponse, error) {
	resp, err := t.Txn.Commit()
	if err == nil && t.kv.after != nil {
		if lost := t.kv.after(t.n); lost != nil {
			return nil, lost
		}
	}
	return resp, err
}

// TestErrSaysWhy: what etcd has said is a loss, and silence is none.
func TestErrSaysWhy(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for name, tt := range map[string]struct {
		ttl  time.Duration
		end  func(party, *etcdlock.Tenure)
		want error
	}{
		// Etcd says so at the next renewal, and that must come in time.
		"revoked": {6 * time.Second, func(p party, held *etcdlock.Tenure) {
			if _, err := p.client.Revoke(t.Context(), clientv3.LeaseID(held.UnorderedLeaseID())); err != nil {
				t.Error(err)
			}
		}, lock.ErrLost},
		"cut off": {brief, func(p party, _ *etcdlock.Tenure) { p.link.cut() }, lock.ErrCutOff},
		"closed":  {brief, func(p party, _ *etcdlock.Tenure) { p.client.Close() }, lock.ErrCutOff},
		"unlocked": {long, func(_ party, held *etcdlock.Tenure) {
			if err := held.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}, nil},
	} {
		p := s.join(t, tt.ttl)
		tenure, err := p.Lock(t.Context(), "/"+name)
		if err != nil {
			t.Fatal(err)
		}
		held := tenure.(*etcdlock.Tenure)
		if err := held.Err(); err != nil {
			t.Errorf("%s: during the tenure: %v", name, err)
		}
		tt.end(p, held)
		<-held.Done()
		if err := held.Err(); err != tt.want {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// TestNestedScopes: the holder of "/lock/a" does not keep anyone from "/lock".
func TestNestedScopes(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	for _, nested := range []string{scope + "/a", scope + "/", scope + "//", scope + "/a/b"} {
		if _, err := a.TryLock(t.Context(), nested); err != nil {
			t.Errorf("%q: %v", nested, err)
		}
	}
	held, err := b.TryLock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock returned %v, want ErrLocked", err)
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
