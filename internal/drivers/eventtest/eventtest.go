// Package eventtest has a story in which each kind of event becomes of a lock, and checks that
// an observed backend tells of it.
package eventtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TTL is how long the leases of a story last: they are renewed in time on a busy machine, too.
const TTL = 4 * time.Second

// deadline bounds a story.
const deadline = time.Minute

const scope = "/events"

// Story tells what a lock service does whose leases last for TTL.
type Story struct {
	locktest.Subject
	// Renew has a client's lease renewed, where nobody would see that otherwise. Nil: it
	// is seen.
	Renew func(locktest.Client)
	// Revoke ends a tenure as somebody else could, so that the holder is told.
	Revoke func(context.Context, lock.Grant) error
}

// Tell tells the story of a client that is observed.
func (s Story) Tell(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	open := func() locktest.Client {
		c, err := s.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	ours, theirs := open(), open()
	seen := observer{make(chan lock.Event, 1000)}
	b := lock.Observe(ours.Backend, seen)

	held := must(theirs.Lock(ctx, scope))(t)
	if _, err := b.TryLock(ctx, scope); !errors.Is(err, lock.ErrLocked) {
		t.Fatalf("TryLock of a lock that is held returned %v", err)
	}
	seen.await(ctx, t, lock.Asked, lock.Grant{}, nil)
	seen.await(ctx, t, lock.NotGranted, lock.Grant{}, lock.ErrLocked)
	if err := held.Unlock(ctx); err != nil {
		t.Fatal(err)
	}

	take := func() lock.Tenure {
		t.Helper()
		tenure := must(b.Lock(ctx, scope))(t)
		seen.await(ctx, t, lock.Asked, lock.Grant{}, nil)
		seen.await(ctx, t, lock.Granted, tenure.Grant(), nil)
		return tenure
	}
	tenure := take()
	if err := tenure.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
	seen.await(ctx, t, lock.Released, tenure.Grant(), nil)

	tenure = take()
	s.extend(ctx, t, tenure)
	if s.Renew != nil {
		s.Renew(ours)
	}
	seen.await(ctx, t, lock.Renewed, tenure.Grant(), nil)
	if err := s.Revoke(ctx, tenure.Grant()); err != nil {
		t.Fatal(err)
	}
	s.extend(ctx, t, tenure)
	seen.await(ctx, t, lock.Lost, tenure.Grant(), lock.ErrLost)

	tenure = take()
	ours.Crash()
	s.extend(ctx, t, tenure)
	seen.await(ctx, t, lock.RenewalFailed, tenure.Grant(), errAny)
	if e := seen.await(ctx, t, lock.Lost, tenure.Grant(), lock.ErrCutOff); e.Took < TTL/2 || e.Took > TTL+s.Slack {
		t.Errorf("the tenure is said to have lasted %v, and its lease is %v", e.Took, TTL)
	}
	ours.Wake()
}

// extend extends a fixed lease, whatever comes of it.
func (s Story) extend(ctx context.Context, t *testing.T, tenure lock.Tenure) {
	t.Helper()
	_, ok := tenure.(lock.Extender)
	if ok != s.FixedLease {
		t.Fatalf("the tenure is an Extender: %v, and the lease is fixed: %v", ok, s.FixedLease)
	}
	if ok {
		ctx, cancel := context.WithTimeout(ctx, TTL/4)
		defer cancel()
		_ = tenure.(lock.Extender).Extend(ctx, TTL)
	}
}

func must(tenure lock.Tenure, err error) func(*testing.T) lock.Tenure {
	return func(t *testing.T) lock.Tenure {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return tenure
	}
}

// observer keeps what it is told.
type observer struct{ events chan lock.Event }

func (o observer) Observe(_ context.Context, e lock.Event) { o.events <- e }

// errAny stands for an error of the lock service's.
var errAny = errors.New("any")

// await returns the next event of a kind, and checks what it says. Renewals come between others.
func (o observer) await(ctx context.Context, t *testing.T, kind lock.EventKind, g lock.Grant, err error) lock.Event {
	t.Helper()
	for {
		select {
		case e := <-o.events:
			switch {
			case e.Kind == kind:
				right := errors.Is(e.Err, err) || err == errAny && e.Err != nil
				if !right || e.Scope != scope || e.Grant != g {
					t.Errorf("told %v: %+v, want the error %v and the grant %+v", e.Kind, e, err, g)
				}
				return e
			case e.Kind != lock.Renewed && e.Kind != lock.RenewalFailed:
				t.Fatalf("told %v: %+v, want %v", e.Kind, e, kind)
			}
		case <-ctx.Done():
			t.Fatalf("nobody has told of %v", kind)
		}
	}
}
