package etcdlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// take is mustLock of another scope.
func (p party) take(t *testing.T, scope string) *etcdlock.Tenure {
	t.Helper()
	tenure, err := p.Lock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure.(*etcdlock.Tenure)
}

func mustUnlock(t *testing.T, tenure lock.Tenure) {
	t.Helper()
	if err := tenure.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantEnd waits until the tenure is over, and for the reason.
func wantEnd(t *testing.T, tenure lock.Tenure, want error) {
	t.Helper()
	select {
	case <-tenure.Done():
	case <-time.After(deadline):
		t.Fatalf("%v is not over", tenure.Grant())
	}
	if err := tenure.Err(); err != want {
		t.Errorf("%v ended with %v, want %v", tenure.Grant(), err, want)
	}
}

func wantCurrent(t *testing.T, tenure lock.Tenure) {
	t.Helper()
	select {
	case <-tenure.Done():
		t.Errorf("%v is over: %v", tenure.Grant(), tenure.Err())
	default:
	}
}

// awaitDeletion returns when a key was deleted after a revision.
func (p party) awaitDeletion(t *testing.T, key string, after int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for news := range p.client.Watch(ctx, key, clientv3.WithRev(after+1), clientv3.WithFilterPut()) {
		if len(news.Events) > 0 {
			return
		}
	}
	t.Fatalf("%s is still there", key)
}

func TestTenuresShareALeaseAndNoKey(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	first := a.take(t, "/a")
	second := a.take(t, "/b")
	mustUnlock(t, first)
	third := a.take(t, "/a")
	owners := make(map[string]bool)
	for _, tenure := range []*etcdlock.Tenure{first, second, third} {
		owners[tenure.Grant().Owner] = true
		if tenure.UnorderedLeaseID() != first.UnorderedLeaseID() {
			t.Errorf("leases %x and %x", first.UnorderedLeaseID(), tenure.UnorderedLeaseID())
		}
	}
	if len(owners) != 3 {
		t.Errorf("the owners are %v", owners)
	}
	wantCurrent(t, second)
	wantCurrent(t, third)
}

// leases counts what is asked about leases. They are renewed when they have to be,
// and not in the background.
type leases struct {
	clientv3.Lease
	grants, renewals atomic.Int64
	renewed          chan struct{} // gets a value at each renewal, if there is room
}

func (l *leases) KeepAlive(ctx context.Context, _ clientv3.LeaseID) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	answers := make(chan *clientv3.LeaseKeepAliveResponse)
	context.AfterFunc(ctx, func() { close(answers) })
	return answers, nil
}

func (l *leases) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	l.grants.Add(1)
	return l.Lease.Grant(ctx, ttl)
}

func (l *leases) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	l.renewals.Add(1)
	select {
	case l.renewed <- struct{}{}:
	default:
	}
	return l.Lease.KeepAliveOnce(ctx, id)
}

func TestAttemptsAtOnceShareALease(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	count := &leases{Lease: a.client.Lease}
	a.client.Lease = count
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			if _, err := a.Lock(t.Context(), fmt.Sprint("/", i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := count.grants.Load(); n != 1 {
		t.Errorf("%d leases were granted", n)
	}
}

// TestLossOfTheLease: all tenures on it are lost, and the Backend goes on with
// another one.
func TestLossOfTheLease(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	a.client.Lease = &leases{Lease: a.client.Lease} // no renewal tells it
	first, second := a.take(t, "/a"), a.take(t, "/b")
	if _, err := a.client.Revoke(t.Context(), clientv3.LeaseID(first.UnorderedLeaseID())); err != nil {
		t.Fatal(err)
	}
	again := a.take(t, "/a")
	wantEnd(t, first, lock.ErrLost)
	wantEnd(t, second, lock.ErrLost)
	wantCurrent(t, again)
	if again.UnorderedLeaseID() == first.UnorderedLeaseID() {
		t.Error("the lease is the one that was revoked")
	}
	for _, over := range []*etcdlock.Tenure{first, second} {
		if err := over.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock of %v: %v, want ErrLost", over.Grant(), err)
		}
	}
	wantCurrent(t, again)
}

// TestLeaseEndsWhenNobodyNeedsIt: it would be renewed for ever otherwise.
func TestLeaseEndsWhenNobodyNeedsIt(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.join(t, brief)
	tenure := a.mustLock(t)
	mark, err := a.client.Put(t.Context(), "mark", "", clientv3.WithLease(clientv3.LeaseID(tenure.UnorderedLeaseID())))
	if err != nil {
		t.Fatal(err)
	}
	mustUnlock(t, tenure)
	again := a.mustLock(t)
	if again.UnorderedLeaseID() != tenure.UnorderedLeaseID() {
		t.Error("the lease was not kept")
	}
	mustUnlock(t, again)
	a.awaitDeletion(t, "mark", mark.Header.Revision)
	after := a.mustLock(t)
	if after.UnorderedLeaseID() == tenure.UnorderedLeaseID() {
		t.Error("the lease is the one that ended")
	}
}

// TestGrantComesWithARenewedLease: a kept lease may be nearly over.
func TestGrantComesWithARenewedLease(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	count := &leases{Lease: a.client.Lease}
	a.client.Lease = count
	first := a.take(t, "/a")
	age(first, long/4)
	a.take(t, "/b")
	if n := count.renewals.Load(); n != 0 {
		t.Errorf("a lease of a quarter of its TTL was renewed, %d times", n)
	}
	age(first, long/4)
	a.take(t, "/c")
	a.take(t, "/d")
	if n := count.renewals.Load(); n != 1 {
		t.Errorf("an old lease was renewed %d times, want once", n)
	}
}

// TestWaitBeginsWithARenewedLease: the wait may be longer than what is left of it.
func TestWaitBeginsWithARenewedLease(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	count := &leases{Lease: a.client.Lease, renewed: make(chan struct{}, 1)}
	a.client.Lease = count
	age(a.take(t, "/other"), long/2)
	held := b.mustLock(t)
	if _, err := a.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) || count.renewals.Load() > 0 {
		t.Errorf("TryLock, which does not wait: %v, %d renewals", err, count.renewals.Load())
	}
	waiting := a.lockInBackground(t.Context())
	select {
	case <-count.renewed:
	case r := <-waiting:
		t.Fatalf("Lock returned %v, %v", r.tenure, r.err)
	}
	mustUnlock(t, held)
	if r := <-waiting; r.err != nil {
		t.Error(r.err)
	}
}

// TestNoGrantOnALeaseThatCannotBeRenewed, though its key was the first a moment ago.
func TestNoGrantOnALeaseThatCannotBeRenewed(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	a.client.Lease = &leases{Lease: a.client.Lease}
	var held *etcdlock.Tenure
	f := a.fail(&faults{txn: func(ctx context.Context, send commit) (*clientv3.TxnResponse, error) {
		resp, err := send(ctx)
		if _, err := a.client.Revoke(t.Context(), clientv3.LeaseID(held.UnorderedLeaseID())); err != nil {
			t.Error(err)
		}
		return resp, err
	}})
	held = a.take(t, "/other")
	age(held, long)
	f.on.Store(true)
	if tenure, err := a.Lock(t.Context(), scope); !errors.Is(err, concurrency.ErrSessionExpired) {
		t.Errorf("got %v, %v, want ErrSessionExpired", tenure, err)
	}
	wantEnd(t, held, lock.ErrLost)
}

// TestMutexOfPackageConcurrency: it and a Backend stand in one queue.
func TestMutexOfPackageConcurrency(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	held := a.mustLock(t)
	lease := clientv3.LeaseID(held.UnorderedLeaseID())
	for name, option := range map[string]concurrency.SessionOption{
		"own lease": concurrency.WithTTL(60), "lease of the holder": concurrency.WithLease(lease),
	} {
		session, err := concurrency.NewSession(b.client, option)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Orphan()
		if err := concurrency.NewMutex(session, scope).TryLock(t.Context()); !errors.Is(err, concurrency.ErrLocked) {
			t.Errorf("%s: TryLock of a mutex: %v, want ErrLocked", name, err)
		}
	}
	session, err := concurrency.NewSession(b.client)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	mutex, locked := concurrency.NewMutex(session, scope), make(chan error, 1)
	go func() { locked <- mutex.Lock(t.Context()) }()
	a.queue(t, 2)
	third := a.lockInBackground(t.Context())
	a.queue(t, 3)
	mustUnlock(t, held)
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	if _, err := a.TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("TryLock while a mutex holds the lock: %v", err)
	}
	if err := mutex.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := <-third
	if r.err != nil {
		t.Fatal(r.err)
	}
	mustUnlock(t, r.tenure)
}

// mute renews no lease, and never says that it stopped: so etcd's client does where it
// is closed just when the first renewal begins.
type mute struct{ clientv3.Lease }

func (mute) KeepAlive(context.Context, clientv3.LeaseID) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	return make(chan *clientv3.LeaseKeepAliveResponse), nil
}

func TestRenewalEndsWithTheClient(t *testing.T) {
	s := newService(t)
	before := goleak.IgnoreCurrent()
	a := s.join(t, long)
	a.client.Lease = mute{a.client.Lease}
	tenure := a.mustLock(t)
	a.client.Close()
	<-tenure.Done()
	// The server may still be starting goroutines of its own.
	if err := goleak.Find(before); err != nil && strings.Contains(err.Error(), "etcdlock.(*lease)") {
		t.Error(err)
	}
}

// givesUp is the Lease of a client that gives up on its first renewal. So etcd's client does
// where a member has not answered for some seconds, which may be a small part of the TTL.
type givesUp struct {
	clientv3.Lease
	asked atomic.Int64
	again chan struct{} // closed when the client is asked for more renewals
}

func (l *givesUp) KeepAlive(ctx context.Context, id clientv3.LeaseID) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	if l.asked.Add(1) == 1 {
		answers := make(chan *clientv3.LeaseKeepAliveResponse)
		time.AfterFunc(1100*time.Millisecond, func() { close(answers) })
		return answers, nil
	}
	close(l.again)
	return l.Lease.KeepAlive(ctx, id)
}

// TestRenewalGoesOn: until a TTL has passed without an answer, nothing is lost.
func TestRenewalGoesOn(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	l := &givesUp{Lease: a.client.Lease, again: make(chan struct{})}
	a.client.Lease = l
	tenure := a.mustLock(t)
	renewed := make(chan error, 1)
	tenure.OnRenewal(func(_ time.Duration, err error) { renewed <- err })
	select {
	case <-l.again:
	case <-tenure.Done():
		t.Fatalf("the tenure has ended: %v", tenure.Err())
	}
	if err := <-renewed; err != nil {
		t.Errorf("the renewal after that: %v", err)
	}
	wantCurrent(t, tenure)
	mustUnlock(t, tenure)
}

// TestRenewalThatIsNeverAnswered ends the tenure with the TTL.
func TestRenewalThatIsNeverAnswered(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a := s.join(t, brief)
	a.client.Lease = mute{a.client.Lease}
	wantEnd(t, a.mustLock(t), lock.ErrCutOff)
}

// commit sends a transaction.
type commit func(context.Context) (*clientv3.TxnResponse, error)

// faults is a KV that has faults while it is told to.
type faults struct {
	clientv3.KV
	on     atomic.Bool
	txn    func(context.Context, commit) (*clientv3.TxnResponse, error)
	delete func() error // instead of the deletion; nil: it has no fault
}

// fail makes the faults those of a client.
func (p party) fail(f *faults) *faults {
	f.KV = p.client.KV
	p.client.KV = f
	return f
}

func (f *faults) Txn(ctx context.Context) clientv3.Txn { return &faultyTxn{faults: f, ctx: ctx} }

func (f *faults) Delete(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	if f.on.Load() && f.delete != nil {
		return nil, f.delete()
	}
	return f.KV.Delete(ctx, key, opts...)
}

type faultyTxn struct {
	clientv3.Txn
	faults *faults
	ctx    context.Context
	cmps   []clientv3.Cmp
	ops    []clientv3.Op
}

func (t *faultyTxn) If(c ...clientv3.Cmp) clientv3.Txn  { t.cmps = c; return t }
func (t *faultyTxn) Then(o ...clientv3.Op) clientv3.Txn { t.ops = o; return t }
func (t *faultyTxn) Commit() (*clientv3.TxnResponse, error) {
	send := func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return t.faults.KV.Txn(ctx).If(t.cmps...).Then(t.ops...).Commit()
	}
	if t.faults.on.Load() {
		return t.faults.txn(t.ctx, send)
	}
	return send(t.ctx)
}

func reset(context.Context, commit) (*clientv3.TxnResponse, error) { return nil, errReset }

var errReset = errors.New("connection reset")

// TestUnknownUnlockBesideATenure: the lease goes on, and the lock is free all the same.
func TestUnknownUnlockBesideATenure(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	f := a.fail(&faults{txn: reset})
	first, second := a.mustLock(t), a.take(t, "/other")
	f.on.Store(true)
	if unknown := new(lock.UnknownError); !errors.As(first.Unlock(t.Context()), &unknown) {
		t.Error("the outcome is known")
	}
	f.on.Store(false)
	if r := <-b.lockInBackground(t.Context()); r.err != nil {
		t.Error(r.err)
	}
	wantCurrent(t, second)
	if third := a.take(t, "/third"); third.UnorderedLeaseID() == second.UnorderedLeaseID() {
		t.Error("a new tenure stands on the lease of which it is not known what is on it")
	}
	mustUnlock(t, second)
}

// TestPutThatComesLate: it comes when its attempt is over and its key was deleted,
// and the lease that it is on is still needed.
func TestPutThatComesLate(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	var late commit
	f := a.fail(&faults{txn: func(_ context.Context, send commit) (*clientv3.TxnResponse, error) {
		late = send
		return nil, errReset
	}})
	other := a.take(t, "/other")
	f.on.Store(true)
	_, err := a.Lock(t.Context(), scope)
	if unknown := new(lock.UnknownError); !errors.As(err, &unknown) || !errors.Is(err, errReset) {
		t.Errorf("Lock returned %v, want an UnknownError and its cause", err)
	}
	resp, err := late(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.awaitDeletion(t, fmt.Sprintf("%s%x-2", etcdlock.Prefix(scope), other.UnorderedLeaseID()), resp.Header.Revision)
	wantCurrent(t, other)
}

// TestPutThatComesLateToNobody: where nobody else needs the lease it is revoked, and
// no put can come any more.
func TestPutThatComesLateToNobody(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	var late commit
	a.fail(&faults{txn: func(_ context.Context, send commit) (*clientv3.TxnResponse, error) {
		late = send
		return nil, errReset
	}}).on.Store(true)
	_, err := a.Lock(t.Context(), scope)
	if unknown := new(lock.UnknownError); errors.As(err, &unknown) || !errors.Is(err, errReset) {
		t.Errorf("Lock returned %v, want its cause, and nothing unknown", err)
	}
	if _, err := late(t.Context()); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		t.Errorf("the put came late: %v", err)
	}
}

// TestLeaseOnWhichNothingIsRemoved: it is let go, because of the key that may be left.
func TestLeaseOnWhichNothingIsRemoved(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a, b := s.join(t, brief), s.join(t, long)
	f := a.fail(&faults{txn: reset, delete: func() error { return errReset }})
	first, second := a.mustLock(t), a.take(t, "/other")
	f.on.Store(true)
	if unknown := new(lock.UnknownError); !errors.As(first.Unlock(t.Context()), &unknown) {
		t.Error("the outcome is known")
	}
	wantEnd(t, second, lock.ErrCutOff)
	if r := <-b.lockInBackground(t.Context()); r.err != nil {
		t.Error(r.err)
	}
}

// TestRefusedPut: etcd has said that it did nothing, and so nothing is in doubt.
func TestRefusedPut(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	f := a.fail(&faults{
		txn:    func(context.Context, commit) (*clientv3.TxnResponse, error) { return nil, rpctypes.ErrPermissionDenied },
		delete: func() error { t.Error("a key is removed that was never put"); return errReset },
	})
	first := a.take(t, "/a")
	f.on.Store(true)
	_, err := a.Lock(t.Context(), scope)
	if unknown := new(lock.UnknownError); errors.As(err, &unknown) || !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("Lock returned %v, want etcd's refusal, and nothing unknown", err)
	}
	f.on.Store(false)
	if second := a.take(t, "/b"); second.UnorderedLeaseID() != first.UnorderedLeaseID() {
		t.Error("the lease was given up")
	}
}

// TestPutIsAnsweredAfterItsContext: so that a Lock that is cancelled knows what it has
// left, and the lease stays.
func TestPutIsAnsweredAfterItsContext(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	ctx, cancel := context.WithCancel(t.Context())
	f := a.fail(&faults{txn: func(ctx context.Context, send commit) (*clientv3.TxnResponse, error) {
		cancel()
		return send(ctx)
	}})
	first := a.take(t, "/other")
	f.on.Store(true)
	_, err := a.Lock(ctx, scope)
	if unknown := new(lock.UnknownError); errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("Lock returned %v, want that the context is cancelled, and nothing unknown", err)
	}
	f.on.Store(false)
	a.queue(t, 0)
	if second := a.mustLock(t); second.UnorderedLeaseID() != first.UnorderedLeaseID() {
		t.Error("the lease was given up")
	}
}
