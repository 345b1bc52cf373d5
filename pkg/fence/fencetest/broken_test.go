package fencetest_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// correct is a fenced store as small as it can be. Each broken store is made of
// it by replacing one thing.
type correct struct {
	register fence.Register
	mu       sync.Mutex
	data     map[string]string
}

func nothing(context.Context) error { return nil }

func newCorrect() *correct { return &correct{data: make(map[string]string)} }

func (s *correct) set(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[key] = value
}

func (s *correct) unset(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.data, key)
}

func (s *correct) get(key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.data[key]
	return v, ok
}

func (s *correct) Write(ctx context.Context, c fence.Claim, key, value string) error {
	return s.register.Do(ctx, c, func(context.Context) error { s.set(key, value); return nil })
}

func (s *correct) Delete(ctx context.Context, c fence.Claim, key string) error {
	return s.register.Do(ctx, c, func(context.Context) error { s.unset(key); return nil })
}

func (s *correct) Read(ctx context.Context, c fence.Claim, key string) (string, bool, error) {
	if c.Token != 0 {
		if err := s.register.Do(ctx, c, nothing); err != nil {
			return "", false, err
		}
	}
	v, ok := s.get(key)
	return v, ok, nil
}

// writes is a store whose Write is replaced.
type writes struct {
	*correct
	write func(s *correct, c fence.Claim, key, value string) error
}

func (w writes) Write(_ context.Context, c fence.Claim, key, value string) error {
	return w.write(w.correct, c, key, value)
}

// byHand is a store whose rule is replaced: admit judges a claim against the
// mark that key or scope has, and says the mark afterwards.
type byHand struct {
	mu        sync.Mutex
	data      map[string]string
	marks     map[string]fence.Mark
	admit     func(m fence.Mark, c fence.Claim) (fence.Mark, error)
	perKey    bool // the mark belongs to the key
	dropMarks bool // delete drops the mark
	deafReads bool // reads ignore tokens
}

func newByHand(admit func(fence.Mark, fence.Claim) (fence.Mark, error)) *byHand {
	return &byHand{data: make(map[string]string), marks: make(map[string]fence.Mark), admit: admit}
}

func (s *byHand) do(c fence.Claim, key string, op func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	scope := c.Scope
	if s.perKey {
		scope = key
	}
	m, err := s.admit(s.marks[scope], c)
	if err != nil {
		return err
	}
	s.marks[scope] = m.Done(c)
	op()
	return nil
}

func (s *byHand) Write(_ context.Context, c fence.Claim, key, value string) error {
	return s.do(c, key, func() { s.data[key] = value })
}

func (s *byHand) Delete(_ context.Context, c fence.Claim, key string) error {
	return s.do(c, key, func() {
		delete(s.data, key)
		if s.dropMarks {
			delete(s.marks, c.Scope)
		}
	})
}

func (s *byHand) Read(_ context.Context, c fence.Claim, key string) (v string, ok bool, err error) {
	read := func() { v, ok = s.data[key] }
	if c.Token == 0 || s.deafReads {
		s.mu.Lock()
		defer s.mu.Unlock()
		read()
		return v, ok, nil
	}
	err = s.do(c, key, read)
	return v, ok, err
}

// volatile is restarted with its data and without its marks.
type volatile struct{ *correct }

func rule(m fence.Mark, c fence.Claim) (fence.Mark, error) { return m.Admit(c) }

// subject makes a Subject of a way to open a store.
func subject(open func() fencetest.Store) fencetest.Subject {
	return fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) { return open(), nil },
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			s := newCorrect()
			s.register.Bound = func(fence.Claim) (fence.Token, error) { return bound, nil }
			return s, nil
		},
		Restart: func(_ context.Context, s fencetest.Store) (fencetest.Store, error) { return s, nil },
		Fail:    fail,
	}
}

// failing is a store whose operations can fail half done.
type failing interface {
	fail(c fence.Claim, key, value string) error
}

func fail(_ context.Context, s fencetest.Store, c fence.Claim, key, value string) error {
	if s, ok := s.(failing); ok {
		return s.fail(c, key, value)
	}
	return errors.New("nothing was done")
}

var errHalfDone = errors.New("half done")

func (s *correct) fail(c fence.Claim, key, value string) error {
	return s.register.Do(context.Background(), c, func(context.Context) error { s.set(key, value); return errHalfDone })
}

// markAfter is a store that raises the mark after the operation.
type markAfter struct{ *byHand }

func (s markAfter) fail(c fence.Claim, key, value string) error {
	s.data[key] = value
	return errHalfDone
}

// doneAlready is a store that counts a sequence number also where the operation
// fails.
type doneAlready struct{ *byHand }

func (s doneAlready) fail(c fence.Claim, key, value string) error {
	return errors.Join(s.Write(context.Background(), c, key, value), errHalfDone)
}

func TestCorrectStoreObeysAllLaws(t *testing.T) {
	fencetest.Run(t, subject(func() fencetest.Store { return newCorrect() }))
	fencetest.Run(t, subject(func() fencetest.Store { return newByHand(rule) }))
}

// TestBrokenStoresAreCaught shows each broken store to the whole suite: the laws
// that it breaks must say so, and no other may.
func TestBrokenStoresAreCaught(t *testing.T) {
	byRule := func(admit func(fence.Mark, fence.Claim) (fence.Mark, error)) func() fencetest.Store {
		return func() fencetest.Store { return newByHand(admit) }
	}
	for _, tt := range []struct {
		name   string
		open   func() fencetest.Store
		caught []string
		change func(*fencetest.Subject)
	}{
		{
			name: "check and write in two steps",
			open: func() fencetest.Store {
				return writes{newCorrect(), func(s *correct, c fence.Claim, key, value string) error {
					if err := s.register.Do(context.Background(), c, nothing); err != nil {
						return err
					}
					for range rand.IntN(4) { // the gap
						runtime.Gosched()
					}
					s.set(key, value)
					return nil
				}}
			},
			caught: []string{"CheckAndWriteAreOneStep"},
		},
		{
			name: "equality instead of order, as in contrib/lock",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if m.Token != 0 && c.Token > m.Token {
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return m.Admit(c)
			}),
			caught: []string{
				"CheckAndWriteAreOneStep", "FailureKeepsMark", "LargestTokenAdmitted", "NewerTokenReplaces", "ReadRaisesMark",
				"RestartKeepsMark", "ScopeGuardsAllItsKeys", "SequenceEndsWithTenure", "StaleWriteRefused",
			},
		},
		{
			name:   "mark lost on delete",
			open:   func() fencetest.Store { s := newByHand(rule); s.dropMarks = true; return s },
			caught: []string{"DeleteKeepsMark"},
		},
		{
			name: "missing token adopted",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Token == 0 {
					c.Token = max(m.Token, 1)
				}
				return m.Admit(c)
			}),
			caught: []string{"MissingTokenRefused", "RefusalChangesNothing"},
		},
		{
			name: "equal token refused",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				if c.Token != 0 && c.Token == m.Token {
					return m, &fence.StaleError{Scope: c.Scope, Token: c.Token, Mark: m.Token}
				}
				return m.Admit(c)
			}),
			caught: []string{
				"DeleteKeepsMark", "EqualTokenAdmitted", "ReadRaisesMark", "RefusalChangesNothing", "RestartKeepsMark",
				"ScopeGuardsAllItsKeys", "ScopesAreIndependent", "SequenceDropsDuplicates", "SequenceOrders", "UnfencedReadAllowed",
			},
		},
		{
			name:   "reads ignore the token",
			open:   func() fencetest.Store { s := newByHand(rule); s.deafReads = true; return s },
			caught: []string{"InvalidTokenRefused", "ReadRaisesMark", "StaleReadRefused"},
		},
		{
			name:   "a mark per key",
			open:   func() fencetest.Store { s := newByHand(rule); s.perKey = true; return s },
			caught: []string{"ScopeGuardsAllItsKeys"},
		},
		{
			name: "one mark for all locks",
			open: byRule(nil),
			change: func(s *fencetest.Subject) {
				s.Open = func(context.Context) (fencetest.Store, error) {
					var all fence.Mark
					return newByHand(func(_ fence.Mark, c fence.Claim) (m fence.Mark, err error) {
						m, err = all.Admit(c)
						all = m.Done(c)
						return m, err
					}), nil
				}
			},
			caught: []string{"ScopesAreIndependent"},
		},
		{
			name: "tokens go through a float",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				c.Token = fence.Token(float32(c.Token))
				return m.Admit(c)
			}),
			caught: []string{"LargestTokenAdmitted", "RefusalNamesBothTokens"},
		},
		{
			name: "the refusal does not say the mark",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				if errors.Is(err, fence.ErrStale) {
					err = fence.ErrStale
				}
				return next, err
			}),
			caught: []string{"RefusalNamesBothTokens"},
		},
		{
			name: "sequence numbers ignored",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				c.Sequence = 0
				return m.Admit(c)
			}),
			caught: []string{"RestartKeepsMark", "SequenceDropsDuplicates", "SequenceOrders"},
		},
		{
			name: "sequence numbers outlive the tenure",
			open: byRule(func(m fence.Mark, c fence.Claim) (fence.Mark, error) {
				next, err := m.Admit(c)
				if err == nil && c.Sequence > 0 && c.Sequence < m.Sequence {
					return m, fence.ErrStale
				}
				next.Sequence = m.Sequence
				return next, err
			}),
			caught: []string{"SequenceEndsWithTenure"},
		},
		{
			name: "no bound",
			open: byRule(rule),
			change: func(s *fencetest.Subject) {
				s.OpenBounded = func(ctx context.Context, _ fence.Token) (fencetest.Store, error) { return s.Open(ctx) }
			},
			caught: []string{"AheadRefused"},
		},
		{
			name: "marks lost at restart",
			open: func() fencetest.Store { return volatile{newCorrect()} },
			change: func(s *fencetest.Subject) {
				s.Restart = func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
					return volatile{&correct{data: s.(volatile).data}}, nil
				}
			},
			caught: []string{"RestartKeepsMark"},
		},
		{
			name:   "the mark is raised after the operation",
			open:   func() fencetest.Store { return markAfter{newByHand(rule)} },
			caught: []string{"FailureKeepsMark"},
		},
		{
			name:   "a failure counts as done",
			open:   func() fencetest.Store { return doneAlready{newByHand(rule)} },
			caught: []string{"FailureKeepsMark"},
		},
		{
			name: "a refused write is stored all the same",
			open: func() fencetest.Store {
				return writes{newCorrect(), func(s *correct, c fence.Claim, key, value string) error {
					err := s.register.Do(context.Background(), c, nothing)
					s.set(key, value)
					return err
				}}
			},
			caught: []string{
				"CheckAndWriteAreOneStep", "DeleteKeepsMark", "InvalidTokenRefused", "LargestTokenAdmitted", "MissingTokenRefused",
				"ReadRaisesMark", "RefusalChangesNothing", "ScopeGuardsAllItsKeys", "ScopesAreIndependent",
				"SequenceDropsDuplicates", "SequenceOrders", "StaleWriteRefused",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := subject(tt.open)
			if tt.change != nil {
				tt.change(&s)
			}
			caught := make(map[string]error)
			for _, law := range fencetest.Laws {
				if err := law.Check(t.Context(), s); err != nil {
					caught[law.Name] = err
				}
			}
			if got := slices.Sorted(maps.Keys(caught)); !slices.Equal(got, tt.caught) {
				t.Errorf("caught by %q\nwant      %q\n%v", got, tt.caught, caught)
			}
		})
	}
}

func TestMissingAbilitiesAreNamed(t *testing.T) {
	s := fencetest.Subject{
		Open:       func(context.Context) (fencetest.Store, error) { return newCorrect(), nil },
		NoSequence: true,
	}
	var skipped []string
	for _, law := range fencetest.Laws {
		if err := law.Check(t.Context(), s); errors.Is(err, fencetest.ErrNotApplicable) {
			skipped = append(skipped, law.Name)
		} else if err != nil {
			t.Errorf("%s: %v", law.Name, err)
		}
	}
	want := []string{"SequenceOrders", "SequenceDropsDuplicates", "SequenceEndsWithTenure", "RestartKeepsMark", "FailureKeepsMark", "AheadRefused"}
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
}
