package locktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// Observed is a lock service whose tenures tell how the renewals of their leases go: each is a
// lock.Renewer, or with a fixed lease a lock.Extender. Its clients can Crash and Wake.
type Observed struct {
	Subject
	// Renew has a client's lease renewed, where nobody would see that otherwise. Nil: it
	// is seen.
	Renew func(Client)
	// Revoke ends a tenure as somebody else could, so that the holder is told.
	Revoke func(context.Context, lock.Grant) error
}

// Run checks, as a test, what Check does.
func (o Observed) Run(t *testing.T) {
	if err := o.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// Check has each kind of lock.Event become of a lock, and returns nil where an observer by
// lock.Observe is told of all of them.
func (o Observed) Check(ctx context.Context) error {
	const deadline = time.Minute
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var clients [2]Client
	for i := range clients {
		var err error
		if clients[i], err = o.Open(ctx); err != nil {
			return err
		}
		defer clients[i].Close()
	}
	s := &story{Observed: o, ctx: ctx, ours: clients[0], told: make(chan lock.Event, 1000)}
	s.backend = lock.Observe(s.ours.Backend, s)
	if err := s.refused(clients[1]); err != nil {
		return err
	}
	for _, part := range []func(lock.Tenure) error{s.release, s.lose, s.cutOff} {
		tenure, err := s.take()
		if err != nil {
			return err
		}
		if err := part(tenure); err != nil {
			return err
		}
	}
	return nil
}

// story is what an observed client does, and what its observer is told.
type story struct {
	Observed
	ctx     context.Context
	ours    Client
	backend lock.Backend // of ours, observed
	told    chan lock.Event
}

const observedScope = "/observed"

// Observe implements lock.Observer.
func (s *story) Observe(_ context.Context, e lock.Event) { s.told <- e }

// errAny stands for an error of the lock service's.
var errAny = errors.New("any")

// await returns the next event of a kind, and checks what it says. Renewals come between others.
func (s *story) await(kind lock.EventKind, g lock.Grant, want error) (lock.Event, error) {
	for {
		select {
		case e := <-s.told:
			switch {
			case e.Kind == kind:
				right := errors.Is(e.Err, want) || want == errAny && e.Err != nil
				if !right || e.Scope != observedScope || e.Grant != g {
					return e, fmt.Errorf("told %v: %+v, want the error %v and the grant %+v", kind, e, want, g)
				}
				return e, nil
			case e.Kind != lock.Renewed && e.Kind != lock.RenewalFailed:
				return e, fmt.Errorf("told %v: %+v, want %v", e.Kind, e, kind)
			}
		case <-s.ctx.Done():
			return lock.Event{}, fmt.Errorf("nobody has told of %v", kind)
		}
	}
}

// wants is await where the event itself does not matter.
func (s *story) wants(kind lock.EventKind, g lock.Grant, want error) error {
	_, err := s.await(kind, g, want)
	return err
}

// refused has another client hold the lock.
func (s *story) refused(another Client) error {
	held, err := another.Lock(s.ctx, observedScope)
	if err != nil {
		return err
	}
	if _, err := s.backend.TryLock(s.ctx, observedScope); !errors.Is(err, lock.ErrLocked) {
		return fmt.Errorf("TryLock of a lock that is held returned %v", err)
	}
	if err := s.wants(lock.Asked, lock.Grant{}, nil); err != nil {
		return err
	}
	if err := s.wants(lock.NotGranted, lock.Grant{}, lock.ErrLocked); err != nil {
		return err
	}
	return held.Unlock(s.ctx)
}

func (s *story) take() (lock.Tenure, error) {
	tenure, err := s.backend.Lock(s.ctx, observedScope)
	if err != nil {
		return nil, err
	}
	if _, ok := tenure.(lock.Extender); ok != s.FixedLease {
		return nil, fmt.Errorf("the tenure is an Extender: %v, and the lease is fixed: %v", ok, s.FixedLease)
	}
	if err := s.wants(lock.Asked, lock.Grant{}, nil); err != nil {
		return nil, err
	}
	return tenure, s.wants(lock.Granted, tenure.Grant(), nil)
}

func (s *story) release(tenure lock.Tenure) error {
	if err := tenure.Unlock(s.ctx); err != nil {
		return err
	}
	return s.wants(lock.Released, tenure.Grant(), nil)
}

// lose has the lease be renewed, and then the tenure be revoked.
func (s *story) lose(tenure lock.Tenure) error {
	s.extend(tenure)
	if s.Renew != nil {
		s.Renew(s.ours)
	}
	if err := s.wants(lock.Renewed, tenure.Grant(), nil); err != nil {
		return err
	}
	if err := s.Revoke(s.ctx, tenure.Grant()); err != nil {
		return err
	}
	s.extend(tenure)
	return s.wants(lock.Lost, tenure.Grant(), lock.ErrLost)
}

// cutOff has the client fall silent until the lease is over.
func (s *story) cutOff(tenure lock.Tenure) error {
	s.ours.Crash()
	defer s.ours.Wake()
	s.extend(tenure)
	if err := s.wants(lock.RenewalFailed, tenure.Grant(), errAny); err != nil {
		return err
	}
	e, err := s.await(lock.Lost, tenure.Grant(), lock.ErrCutOff)
	if err == nil && (e.Took < s.TTL/2 || e.Took > s.TTL+s.Slack) {
		err = fmt.Errorf("the tenure is said to have lasted %v, and its lease is %v", e.Took, s.TTL)
	}
	return err
}

// extend extends a fixed lease, whatever comes of it.
func (s *story) extend(tenure lock.Tenure) {
	if e, ok := tenure.(lock.Extender); ok {
		ctx, cancel := context.WithTimeout(s.ctx, s.TTL/4)
		defer cancel()
		_ = e.Extend(ctx, s.TTL)
	}
}
