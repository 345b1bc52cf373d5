package fencetest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// way is how a store does a request; f is what the request asks for, which wants the store's mutex.
type way func(ctx context.Context, op string, c fence.Claim, key, value string, f func()) error

// byWay is a store whose requests go their own way.
type byWay struct {
	*byHand
	way     way
	process func() way // of each further process; nil: all go one way
	crashed func()     // comes with each restart; may be nil
}

func (s byWay) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.way(ctx, write, c, key, value, func() { s.data[key] = value })
}

func (s byWay) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.way(ctx, remove, c, key, "", func() { delete(s.data, key) })
}

func (s byWay) Read(ctx context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	if c.Token == 0 {
		return s.byHand.Read(ctx, c, key)
	}
	err = s.way(ctx, read, c, key, "", func() { v, ok = s.data[key] })
	return v, ok, err
}

func (s byWay) beside() fencetest.Store {
	if s.process != nil {
		s.way = s.process()
	}
	return s
}

func (s byWay) crash() fencetest.Store {
	if s.byHand.crash(); s.crashed != nil {
		s.crashed()
	}
	return s
}

// newWay opens stores that go one way, whichever process is asked.
func newWay(of func(*byHand) way) func() fencetest.Store {
	return func() fencetest.Store { s := newByHand(rule); return byWay{byHand: s, way: of(s)} }
}

// newProcesses opens stores whose processes do one request at a time each, and go one way.
func newProcesses(of func(*byHand) way) func() fencetest.Store {
	return func() fencetest.Store {
		s := newByHand(rule)
		common := of(s)
		process := func() way {
			own := new(sync.Mutex)
			return func(ctx context.Context, op string, c fence.Claim, key, value string, f func()) error {
				own.Lock()
				defer own.Unlock()
				return common(ctx, op, c, key, value, f)
			}
		}
		return byWay{byHand: s, way: process(), process: process}
	}
}

// look is the mark of a scope.
func (s *byHand) look(scope string) fence.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marks[scope]
}

// raise raises the mark of a scope, and does what f does.
func (s *byHand) raise(scope string, m fence.Mark, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m = s.marks[scope].Max(m)
	s.marks[scope], s.durable[scope] = m, m
	f()
}

// ownToken checks a request with the mark's own token, and does it in a step of its own, as the mark stays as it is.
func ownToken(op string) func(*byHand) way {
	return func(s *byHand) way {
		return func(_ context.Context, kind string, c fence.Claim, key, _ string, f func()) error {
			if kind != op || c.Token <= 0 || c.Sequence != 0 || c.Mode != fence.Exclusive || (fence.Mark{Token: c.Token}) != s.look(c.Scope) {
				return s.do(kind, c, key, f)
			}
			gap()
			s.raise(c.Scope, fence.Mark{}, f)
			return nil
		}
	}
}

// keyLock has requests of a kind on keys that are not called as their scope take the lock of their key, and all others that of
// their scope, too.
func keyLock(late string) func(*byHand) way {
	return func(s *byHand) way {
		var scopes, keys sync.Map
		lock := func(of *sync.Map, name string) (unlock func()) {
			l, _ := of.LoadOrStore(name, new(sync.Mutex))
			l.(*sync.Mutex).Lock()
			return l.(*sync.Mutex).Unlock
		}
		return func(_ context.Context, op string, c fence.Claim, key, _ string, f func()) error {
			alone := op == late && key != c.Scope
			if !alone {
				defer lock(&scopes, c.Scope)()
			}
			defer lock(&keys, key)()
			if !alone {
				return s.do(op, c, key, f)
			}
			next, err := s.look(c.Scope).Admit(c)
			if err != nil {
				return err
			}
			gap()
			s.raise(c.Scope, next.Done(c), f)
			return nil
		}
	}
}

// queues has a queue of numbered requests for each tenure. Each is checked when it is the first one, and done afterwards.
func queues(s *byHand) way {
	var tenures sync.Map
	return func(_ context.Context, op string, c fence.Claim, key, _ string, f func()) error {
		if c.Sequence <= 0 || c.Mode != fence.Exclusive {
			return s.do(op, c, key, f)
		}
		l, _ := tenures.LoadOrStore(fence.Claim{Scope: c.Scope, Token: c.Token}, new(sync.Mutex))
		l.(*sync.Mutex).Lock()
		defer l.(*sync.Mutex).Unlock()
		if err := s.do(op, c, key, func() {}); err != nil {
			return err
		}
		gap()
		s.raise(c.Scope, fence.Mark{}, f)
		return nil
	}
}

// firstNumber checks the first numbered request of a tenure, and does it afterwards, if no later one has come.
func firstNumber(s *byHand) way {
	return func(_ context.Context, op string, c fence.Claim, key, _ string, f func()) error {
		if c.Sequence <= 0 || c.Mode != fence.Exclusive || c.Token <= s.look(c.Scope).Highest() {
			return s.do(op, c, key, f)
		}
		gap()
		s.mu.Lock()
		defer s.mu.Unlock()
		m := s.marks[c.Scope]
		if _, err := m.Admit(c); err != nil && m.Sequence != c.Sequence {
			return err
		}
		m = m.Max(fence.Mark{Token: c.Token, Sequence: c.Sequence})
		s.marks[c.Scope], s.durable[c.Scope] = m, m
		f()
		return nil
	}
}

// readLock has reads and shared claims go side by side. Each raises the mark, and then does what it asks for.
func readLock(s *byHand) way {
	var rw sync.RWMutex
	return func(_ context.Context, op string, c fence.Claim, key, _ string, f func()) error {
		if op != read && c.Mode == fence.Exclusive {
			rw.Lock()
			defer rw.Unlock()
			return s.do(op, c, key, f)
		}
		rw.RLock()
		defer rw.RUnlock()
		if err := s.do(op, c, key, func() {}); err != nil {
			return err
		}
		if op != read {
			gap()
		}
		s.raise(c.Scope, fence.Mark{}, f)
		return nil
	}
}

// noRow has the first read of a scope find nothing to lock: it looks, and makes the mark afterwards.
func noRow(s *byHand) way {
	return func(_ context.Context, op string, c fence.Claim, key, _ string, f func()) error {
		next, err := fence.Mark{}.Admit(c)
		if op != read || err != nil || s.look(c.Scope) != (fence.Mark{}) {
			return s.do(op, c, key, f)
		}
		s.raise(c.Scope, fence.Mark{}, f)
		gap()
		s.raise(c.Scope, next, func() {})
		return nil
	}
}

func brokenWays() []broken {
	sharedRead := kind{read, fence.Shared}
	var list []broken
	for op, law := range map[string]string{
		write: "CheckAndWriteAreOneStep", remove: "CheckAndDeleteAreOneStep", read: "CheckAndOlderReadAreOneStep",
	} {
		list = append(list, broken{
			name:    fmt.Sprintf("a %s with the mark's own token is checked, and done in a step of its own", op),
			open:    newWay(ownToken(op)),
			change:  alone,
			caught:  []string{law},
			perhaps: []string{"CrowdIsOneStep"},
		})
	}
	for _, op := range []string{write, remove} {
		list = append(list, broken{
			name:   fmt.Sprintf("a %s of a key that is not called as its lock takes the lock of the key alone", op),
			open:   newWay(keyLock(op)),
			change: alone,
			caught: []string{"ScopeIsOneStep"},
		}, broken{
			name:   fmt.Sprintf("of two processes a %s of a key that is not called as its lock takes the lock of the key alone", op),
			open:   newProcesses(keyLock(op)),
			caught: []string{"ProcessesShareEveryScopeStep"},
		})
	}
	return append(list, []broken{
		{
			name:   "of two processes who raises no mark locks none",
			open:   newProcesses(ownToken(write)),
			caught: []string{"ProcessesShareTheStep"},
		},
		{
			name:   "numbered requests have a queue for each tenure, are checked, and done afterwards",
			open:   newWay(queues),
			change: alone,
			caught: []string{"SequenceIsOneStep"},
		},
		{
			name:   "the first numbered request of a tenure is checked, and done afterwards",
			open:   newWay(firstNumber),
			change: alone,
			caught: []string{"SequenceIsOneStep"},
		},
		{
			name:   "reads and shared claims go side by side, raise the mark, and are done afterwards",
			open:   newWay(readLock),
			change: alone,
			caught: []string{"SharedIsOneStep"},
		},
		{
			name:   "the first shared reads of a scope go side by side, and the last one leaves its mark",
			open:   newSideBySide(sharedRead, sharedRead, only(isFirst)),
			change: alone,
			caught: []string{"FirstSharedClaimsAreOneStep"},
		},
		{
			name:   "first shared reads of a scope by two processes go side by side, and the last one leaves its mark",
			open:   newSideBySide(sharedRead, sharedRead, processesOnly(isFirst)),
			caught: []string{"ProcessesShareTheSharedStep"},
		},
		{
			name:   "of two processes the first read of a scope looks, and makes the mark afterwards",
			open:   newProcesses(noRow),
			caught: []string{"ProcessesShareEveryScopeStep"},
		},
	}...)
}

func TestStoresThatGoTheirOwnWayAreCaught(t *testing.T) {
	for _, tt := range brokenWays() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
