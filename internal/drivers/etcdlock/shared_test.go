package etcdlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

func (p party) mustRLock(t *testing.T) *etcdlock.Tenure {
	t.Helper()
	return wantGrant(t, inBackground(t.Context(), p.RLock))
}

func wantGrant(t *testing.T, c <-chan result) *etcdlock.Tenure {
	t.Helper()
	r := <-c
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.tenure.(*etcdlock.Tenure)
}

// wantLocked holds an attempt that does not wait to ErrLocked.
func wantLocked(t *testing.T, who string, try func(context.Context, string) (lock.Tenure, error)) {
	t.Helper()
	if tenure, err := try(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("%s got %v, %v, want ErrLocked", who, tenure, err)
	}
}

// TestKeyTellsTheMode: that of a holder, and that of one who waits.
func TestKeyTellsTheMode(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	reader := a.mustRLock(t)
	waiting := b.lockInBackground(t.Context())
	keys := a.queue(t, 2)
	if g := reader.Grant(); g.Mode != fence.Shared || g.Claim().Mode != fence.Shared || g.Owner != string(keys[0].Key) || int64(g.Token) != keys[0].CreateRevision {
		t.Errorf("grant %+v is of key %v", g, keys[0])
	}
	for i, want := range []fence.Mode{fence.Shared, fence.Exclusive} {
		if key := string(keys[i].Key); etcdlock.ModeOf(key) != want || strings.HasSuffix(key, "-shared") != (want == fence.Shared) {
			t.Errorf("the key %s is of mode %v, want %v", key, etcdlock.ModeOf(key), want)
		}
	}
	mustUnlock(t, reader)
	if g := wantGrant(t, waiting).Grant(); g.Mode != fence.Exclusive || g.Token <= reader.Grant().Token {
		t.Errorf("after %+v came %+v", reader.Grant(), g)
	}
}

// TestNoReaderOvertakesAWriter, also not one that waits.
func TestNoReaderOvertakesAWriter(t *testing.T) {
	s := newService(t)
	a, b, c := s.join(t, long), s.join(t, long), s.join(t, long)
	first := a.mustRLock(t)
	writer := b.lockInBackground(t.Context())
	a.queue(t, 2)
	wantLocked(t, "a reader behind a writer that waits", c.TryRLock)
	second := inBackground(t.Context(), c.RLock)
	a.queue(t, 3)
	mustUnlock(t, first)
	held := wantGrant(t, writer)
	wantLocked(t, "a reader beside a writer", a.TryRLock)
	if keys := a.queue(t, 2); string(keys[0].Key) != held.Grant().Owner {
		t.Errorf("the writer %v was granted the lock behind %s", held.Grant(), keys[0].Key)
	}
	select {
	case r := <-second:
		t.Fatalf("a reader overtook a writer: %v, %v", r.tenure, r.err)
	default:
	}
	mustUnlock(t, held)
	if g := wantGrant(t, second).Grant(); g.Token <= held.Grant().Token {
		t.Errorf("after %+v came %+v", held.Grant(), g)
	}
}

// TestReaderWaitsForWritersOnly: when the one before it leaves the queue, a reader that
// came later holds the lock beside the first.
func TestReaderWaitsForWritersOnly(t *testing.T) {
	s := newService(t)
	a, b, c := s.join(t, long), s.join(t, long), s.join(t, long)
	first := a.mustRLock(t)
	ctx, giveUp := context.WithCancel(t.Context())
	writer := b.lockInBackground(ctx)
	a.queue(t, 2)
	second := inBackground(t.Context(), c.RLock)
	third := inBackground(t.Context(), a.RLock)
	a.queue(t, 4)
	giveUp()
	if r := <-writer; !errors.Is(r.err, context.Canceled) {
		t.Fatalf("Lock returned %v, %v", r.tenure, r.err)
	}
	for _, reader := range []*etcdlock.Tenure{wantGrant(t, second), wantGrant(t, third)} {
		wantCurrent(t, first)
		wantLocked(t, "a writer", b.TryLock)
		mustUnlock(t, reader)
	}
	mustUnlock(t, first)
	mustUnlock(t, b.mustLock(t))
}

// mutex is one of package concurrency on the same lock.
func (p party) mutex(t *testing.T) *concurrency.Mutex {
	t.Helper()
	session, err := concurrency.NewSession(p.client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return concurrency.NewMutex(session, scope)
}

func TestMutexWaitsForReaders(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	readers := []*etcdlock.Tenure{a.mustRLock(t), a.mustRLock(t)}
	mutex := b.mutex(t)
	if err := mutex.TryLock(t.Context()); !errors.Is(err, concurrency.ErrLocked) {
		t.Errorf("TryLock of the mutex returned %v beside readers", err)
	}
	locked := make(chan error, 1)
	go func() { locked <- mutex.Lock(t.Context()) }()
	a.queue(t, 3)
	wantLocked(t, "a reader behind a mutex that waits", a.TryRLock)
	for _, reader := range readers {
		select {
		case err := <-locked:
			t.Errorf("Lock of the mutex returned %v beside %v", err, reader.Grant())
		default:
		}
		mustUnlock(t, reader)
	}
	if err := <-locked; err != nil {
		t.Error(err)
	}
	if keys := a.queue(t, 1); string(keys[0].Key) != mutex.Key() {
		t.Errorf("the mutex is %s, and %s is there", mutex.Key(), keys[0].Key)
	}
}

func TestReadersWaitForAMutex(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	mutex := b.mutex(t)
	if err := mutex.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantLocked(t, "a reader beside a mutex", a.TryRLock)
	waiting := []<-chan result{inBackground(t.Context(), a.RLock), inBackground(t.Context(), a.RLock)}
	a.queue(t, 3)
	if err := mutex.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, reader := range waiting {
		wantGrant(t, reader)
	}
}

// TestReaderIsToldOfItsLoss, and that its unlock frees nothing.
func TestReaderIsToldOfItsLoss(t *testing.T) {
	t.Parallel()
	s := newService(t)
	a, b := s.join(t, 6*time.Second), s.join(t, long) // etcd says so at the next renewal, and that must come in time
	lost, kept := a.mustRLock(t), b.mustRLock(t)
	if _, err := b.client.Revoke(t.Context(), clientv3.LeaseID(lost.UnorderedLeaseID())); err != nil {
		t.Fatal(err)
	}
	wantEnd(t, lost, lock.ErrLost)
	if err := lost.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock returned %v, want ErrLost", err)
	}
	wantCurrent(t, kept)
	wantLocked(t, "a writer", a.TryLock)
}

// TestUnknownSharedAttempt: each call says which it was.
func TestUnknownSharedAttempt(t *testing.T) {
	s := newService(t)
	a := s.join(t, long)
	f := a.fail(&faults{txn: reset, delete: func() error { return errReset }})
	a.take(t, "/other") // so that the lease stays
	f.on.Store(true)
	for op, take := range map[string]func(context.Context, string) (lock.Tenure, error){"rlock": a.RLock, "tryrlock": a.TryRLock} {
		_, err := take(t.Context(), scope)
		if unknown := new(lock.UnknownError); !errors.As(err, &unknown) || unknown.Op != op || unknown.Scope != scope || !errors.Is(err, errReset) {
			t.Errorf("%s returned %v, want an UnknownError with its name and its cause", op, err)
		}
		f.on.Store(false)
		a.take(t, "/"+op) // the next lease
		f.on.Store(true)
	}
}

func TestCancelledRLockLeavesNoKey(t *testing.T) {
	s := newService(t)
	a, b := s.join(t, long), s.join(t, long)
	a.mustLock(t)
	ctx, cancel := context.WithCancel(t.Context())
	waiting := inBackground(ctx, b.RLock)
	a.queue(t, 2)
	cancel()
	r := <-waiting
	if unknown := new(lock.UnknownError); !errors.Is(r.err, context.Canceled) || errors.As(r.err, &unknown) {
		t.Errorf("RLock returned %v, want that the context is cancelled, and nothing unknown", r.err)
	}
	a.queue(t, 1)
}
