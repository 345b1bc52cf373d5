package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// TestPermitsAreNAtATime: by Lock and by TryLock there are n tenures, each of a slot of its
// own, and no more.
func TestPermitsAreNAtATime(t *testing.T) {
	for name, ask := range map[string]func(context.Context, lock.Backend) (lock.Tenure, error){
		"Lock":    func(ctx context.Context, b lock.Backend) (lock.Tenure, error) { return b.Lock(ctx, scope) },
		"TryLock": func(ctx context.Context, b lock.Backend) (lock.Tenure, error) { return b.TryLock(ctx, scope) },
	} {
		bubble(t, func(t *testing.T, m *locktest.Memory) {
			var slots []string
			for range 3 {
				tenure, err := ask(t.Context(), lock.Permits(m.Open(), 3))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				slots = append(slots, tenure.Grant().Scope)
			}
			slices.Sort(slots)
			if want := []string{scope + "/1", scope + "/2", scope + "/3"}; !slices.Equal(slots, want) {
				t.Errorf("%s: the slots are %q, want %q", name, slots, want)
			}
			if _, err := lock.Permits(m.Open(), 3).TryLock(t.Context(), scope); !errors.Is(err, lock.ErrLocked) {
				t.Errorf("%s: a fourth TryLock returned %v", name, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := lock.Permits(m.Open(), 3).Lock(ctx, scope); !errors.Is(err, context.DeadlineExceeded) || strings.Count(err.Error(), "deadline") != 1 {
				t.Errorf("%s: a fourth Lock returned %v", name, err)
			}
		})
	}
}

// TestPermitsBeginAnywhere: clients that come one by one do not all take the first slot.
func TestPermitsBeginAnywhere(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := lock.Permits(m.Open(), 4)
		seen := make(map[string]bool)
		for range 100 {
			err := lock.Do(t.Context(), b, scope, func(_ context.Context, g lock.Grant) error {
				seen[g.Scope] = true
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) != 4 {
			t.Errorf("of 4 slots %v were taken in 100 rounds", seen)
		}
	})
}

// TestPermitsUnderACrowd: many who want one of few slots get it, each in its turn, and at no
// time are there more holders than slots, or slots that nobody uses.
func TestPermitsUnderACrowd(t *testing.T) {
	const n, crowd, term = 3, 24, time.Minute
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		var mu sync.Mutex
		held := make(map[string]bool)
		began := time.Now()
		var group sync.WaitGroup
		for range crowd {
			b := lock.Permits(m.Open(), n)
			group.Go(func() {
				err := lock.Do(t.Context(), b, scope, func(_ context.Context, g lock.Grant) error {
					mu.Lock()
					if held[g.Scope] || len(held) == n {
						t.Errorf("%s is granted, while %v are held", g.Scope, held)
					}
					held[g.Scope] = true
					mu.Unlock()
					time.Sleep(term) // of fake time
					mu.Lock()
					defer mu.Unlock()
					delete(held, g.Scope)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took, want := time.Since(began), crowd/n*term; took != want {
			t.Errorf("the crowd took %v, want %v: a slot was idle", took, want)
		}
		if got := free(t, m, scope+"/1", scope+"/2", scope+"/3"); len(got) != n {
			t.Errorf("afterwards only %q are free", got)
		}
	})
}

// TestPermitsServeInTurn: who waits in the service's fair queues is not overtaken.
func TestPermitsServeInTurn(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		var holders []lock.Tenure
		for range 2 {
			tenure, err := lock.Permits(m.Open(), 2).Lock(t.Context(), scope)
			if err != nil {
				t.Fatal(err)
			}
			holders = append(holders, tenure)
		}
		var order []int
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				err := lock.Do(t.Context(), lock.Permits(m.Open(), 2), scope, func(context.Context, lock.Grant) error {
					order = append(order, i)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // until it waits
		}
		if err := holders[1].Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		group.Wait()
		if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(order, want) {
			t.Errorf("they were served in the order %v", order)
		}
	})
}

// simultaneous is a backend by which all Locks are granted together, whether their context is
// done or not.
type simultaneous struct {
	lock.Backend
	all sync.WaitGroup
}

func (b *simultaneous) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	t, err := b.Backend.Lock(context.WithoutCancel(ctx), scope)
	b.all.Done()
	b.all.Wait()
	return t, err
}

// full is a backend whose TryLock finds all locks taken.
type full struct{ lock.Backend }

func (full) TryLock(context.Context, string) (lock.Tenure, error) { return nil, lock.ErrLocked }

// TestPermitsTakeOneSlot: where the service grants several at the same moment, one is kept.
func TestPermitsTakeOneSlot(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		b := &simultaneous{Backend: full{m.Open()}}
		b.all.Add(3)
		tenure, err := lock.Permits(b, 3).Lock(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		if got := free(t, m, scope+"/1", scope+"/2", scope+"/3"); len(got) != 2 || slices.Contains(got, tenure.Grant().Scope) {
			t.Errorf("%s is held, and %q are free", tenure.Grant().Scope, got)
		}
	})
}

// uneven is a backend by which slot 2 fails, and the others are waited for, and then say what
// they left.
type uneven struct {
	lock.Backend
	left error
}

func (b uneven) Lock(ctx context.Context, of string) (lock.Tenure, error) {
	if of == scope+"/2" {
		return nil, errRefused
	}
	<-ctx.Done()
	return nil, b.left
}

// TestPermitsFail: the first error ends the wait, and what the other queues may have kept is
// told.
func TestPermitsFail(t *testing.T) {
	for _, tt := range []struct {
		left error
		want fence.Outcome
	}{{context.Canceled, fence.Definite}, {errUnknown, fence.Unknown}} {
		bubble(t, func(t *testing.T, m *locktest.Memory) {
			_, err := lock.Permits(uneven{full{m.Open()}, tt.left}, 3).Lock(t.Context(), scope)
			if !errors.Is(err, errAway) || errors.Is(err, context.Canceled) || fence.OutcomeOf(err) != tt.want || strings.Contains(err.Error(), "\n") {
				t.Errorf("Lock returned %q, which is %v, want it %v, and in one line", err, fence.OutcomeOf(err), tt.want)
			}
		})
	}
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		if _, err := lock.Permits(&failing{Backend: m.Open(), errs: []error{errUnknown}}, 3).TryLock(t.Context(), scope); !errors.Is(err, errUnknown) {
			t.Errorf("TryLock returned %v, want what the first slot said", err)
		}
	})
	for _, n := range []int{0, -1} {
		if _, err := lock.Permits(nil, n).Lock(t.Context(), scope); err == nil || fence.OutcomeOf(err) != fence.Definite || !strings.Contains(err.Error(), "one or more") {
			t.Errorf("%d permits: %v", n, err)
		}
	}
}

// onlySlot is a backend of permits with one slot, whose grants are named as the scope.
type onlySlot struct{ lock.Backend }

func (b onlySlot) TryLock(ctx context.Context, scope string) (lock.Tenure, error) {
	return named(b.Backend.TryLock(ctx, scope))
}

func (b onlySlot) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	return named(b.Backend.Lock(ctx, scope))
}

func named(t lock.Tenure, err error) (lock.Tenure, error) {
	if err != nil {
		return nil, err
	}
	return tenureOfScope{t}, nil
}

type tenureOfScope struct{ lock.Tenure }

func (t tenureOfScope) Grant() lock.Grant {
	g := t.Tenure.Grant()
	g.Scope = strings.TrimSuffix(g.Scope, "/1")
	return g
}

// TestPermitsObeyTheLaws: with one slot they are an exclusive lock, whose queue is fair where
// that of the service is.
func TestPermitsObeyTheLaws(t *testing.T) {
	lawsAround(t, func(b lock.Backend) lock.Backend { return onlySlot{lock.Permits(b, 1)} })
}

// lawsAround checks the laws of what is made of another Backend, and is no more than a Backend.
func lawsAround(t *testing.T, around func(lock.Backend) lock.Backend) {
	t.Helper()
	laws(t, func() locktest.Subject {
		subject := locktest.NewMemory(100 * time.Millisecond).Subject()
		open := subject.Open
		subject.Shared, subject.Inspects = false, false
		subject.Slack = time.Second
		subject.Open = func(ctx context.Context) (locktest.Client, error) {
			c, err := open(ctx)
			c.Backend = around(c.Backend)
			return c, err
		}
		return subject
	})
}
