package locktest_test

import (
	"context"
	"slices"
	"sync"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

var brokenInspectors = []brokenBackend{
	{"nobody can be asked", from(inspecting, opening(func(c *locktest.Client) {
		c.Backend = sharingOnly{c.Backend, c.Backend.(lock.Sharer)}
	})), []string{
		"who holds a lock can be asked", "who waits for a lock can be asked", "an inspection changes nothing"}},
	{"the words of holders are lost", telling(eachHolder(func(p *lock.Party) { p.Words = "" })), []string{"who holds a lock can be asked"}},
	{"an owner is told that nobody has", telling(eachHolder(func(p *lock.Party) { p.Owner += "'" })), []string{"who holds a lock can be asked", "who waits for a lock can be asked"}},
	{"the token that is told is that of the grant before", telling(eachHolder(func(p *lock.Party) { p.Token-- })), []string{"who holds a lock can be asked"}},
	{"only the first holder is told", telling(func(s *lock.State) {
		s.Holders = s.Holders[:min(1, len(s.Holders))]
	}), []string{"who holds a lock can be asked"}},
	{"one that holds nothing is told as a holder", telling(func(s *lock.State) {
		s.Holders = append(s.Holders, lock.Party{Grant: lock.Grant{Owner: "nobody"}})
	}), []string{"who holds a lock can be asked", "who waits for a lock can be asked"}},
	{"a holder is told as one of another scope", telling(eachHolder(func(p *lock.Party) { p.Scope += "'" })), []string{"who holds a lock can be asked"}},
	{"a lease that goes on is told as one that has been over", telling(eachHolder(func(p *lock.Party) { p.Left = -1 })), []string{"who holds a lock can be asked"}},
	{"a waiter is told a token that it is not granted by", telling(func(s *lock.State) {
		for i := range s.Waiters {
			s.Waiters[i].Token = 1 << 40
		}
	}), []string{"who waits for a lock can be asked"}},
	{"waiters are not told", telling(func(s *lock.State) { s.Waiters = nil }), []string{"who waits for a lock can be asked"}},
	{"waiters are told the wrong way round", telling(func(s *lock.State) { slices.Reverse(s.Waiters) }),
		[]string{"who waits for a lock can be asked"}},
	{"waiters are told as holders", telling(func(s *lock.State) {
		s.Holders, s.Waiters = append(s.Holders, s.Waiters...), nil
	}), []string{"who waits for a lock can be asked"}},
	{"a holder that asks loses the lock", from(inspecting, opening(func(c *locktest.Client) {
		c.Backend = &losing{inspectingBackend: c.Backend.(inspectingBackend)}
	})), []string{"an inspection changes nothing"}},
}

// sharingOnly is no lock.Inspector.
type sharingOnly struct {
	lock.Backend
	lock.Sharer
}

// inspectingBackend is what the backends of inspecting are.
type inspectingBackend interface {
	lock.Backend
	lock.Sharer
	lock.Inspector
}

// eachHolder changes what is told of those who hold the lock.
func eachHolder(change func(*lock.Party)) func(*lock.State) {
	return func(s *lock.State) {
		for i := range s.Holders {
			change(&s.Holders[i])
		}
	}
}

// eachParty changes what is told of those who hold the lock or wait.
func eachParty(change func(*lock.Party)) func(*lock.State) {
	return func(s *lock.State) {
		eachHolder(change)(s)
		for i := range s.Waiters {
			change(&s.Waiters[i])
		}
	}
}

// telling changes what an inspection tells.
func telling(change func(*lock.State)) func(locktest.Subject) locktest.Subject {
	return from(inspecting, opening(func(c *locktest.Client) {
		c.Backend = told{c.Backend.(inspectingBackend), change}
	}))
}

type told struct {
	inspectingBackend
	change func(*lock.State)
}

func (t told) Inspect(ctx context.Context, scope string) (lock.State, error) {
	state, err := t.inspectingBackend.Inspect(ctx, scope)
	t.change(&state)
	return state, err
}

// losing unlocks the last tenure of its client when it is asked.
type losing struct {
	inspectingBackend

	mu   sync.Mutex
	last lock.Tenure
}

func (l *losing) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := l.inspectingBackend.Lock(ctx, scope)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = t
	return t, err
}

func (l *losing) Inspect(ctx context.Context, scope string) (lock.State, error) {
	l.mu.Lock()
	if l.last != nil {
		_ = l.last.Unlock(ctx)
	}
	l.mu.Unlock()
	return l.inspectingBackend.Inspect(ctx, scope)
}
