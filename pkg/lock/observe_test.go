package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// events is an observer that keeps what it is told, as "KIND OP", with the outcome of an error
// and what it took.
type events struct {
	mu   sync.Mutex
	all  []lock.Event
	said []string
	ctx  []context.Context
}

func (o *events) Observe(ctx context.Context, e lock.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	said := e.Kind.String()
	if e.Op != "" {
		said += " " + e.Op
	}
	if e.Err != nil {
		said += fmt.Sprintf(" (%v)", fence.OutcomeOf(e.Err))
	}
	if e.Took != 0 {
		said += fmt.Sprintf(" after %v", e.Took)
	}
	o.all, o.said, o.ctx = append(o.all, e), append(o.said, said), append(o.ctx, ctx)
}

// want compares what was told with what should have been.
func (o *events) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.said, want) {
		t.Errorf("told\n%q, want\n%q", o.said, want)
	}
}

func TestObserveTells(t *testing.T) {
	must := func(tenure lock.Tenure, err error) lock.Tenure {
		if err != nil {
			panic(err)
		}
		return tenure
	}
	for name, story := range map[string]struct {
		fixed bool
		tell  func(ctx context.Context, m *locktest.Memory, c locktest.Client)
		want  []string
	}{
		"lock and unlock": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			tenure := must(c.Lock(ctx, scope))
			time.Sleep(3 * time.Second)
			_ = tenure.Unlock(ctx)
			_ = tenure.Unlock(ctx) // of which there is nothing to tell
		}, []string{"asked lock", "granted lock", "released unlock after 3s"}},
		"a wait": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			held := must(m.Open().Lock(ctx, scope))
			time.AfterFunc(2*time.Second, func() { _ = held.Unlock(ctx) })
			must(c.Lock(ctx, scope))
		}, []string{"asked lock", "granted lock after 2s"}},
		"a wait that ends": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			must(m.Open().Lock(ctx, scope))
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, _ = c.Lock(ctx, scope)
		}, []string{"asked lock", "not granted lock (unknown) after 2s"}},
		"locked": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			must(m.Open().Lock(ctx, scope))
			_, _ = c.TryLock(ctx, scope)
		}, []string{"asked trylock", "not granted trylock (definite)"}},
		"readers": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			s := c.Backend.(lock.Sharer)
			must(s.RLock(ctx, scope))
			must(s.TryRLock(ctx, scope))
		}, []string{"asked rlock", "granted rlock", "asked tryrlock", "granted tryrlock"}},
		"a loss": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			tenure := must(c.Lock(ctx, scope))
			time.Sleep(time.Second)
			m.Revoke(tenure.Grant())
			_ = tenure.Unlock(ctx)
		}, []string{"asked lock", "granted lock", "lost (lost) after 1s"}},
		"an unlock without an answer": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			tenure := must(c.Lock(ctx, scope))
			c.Crash()
			_ = tenure.Unlock(ctx)
		}, []string{"asked lock", "granted lock", "released unlock (unknown)"}},
		"a lease that runs out": {true, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			tenure := must(c.Lock(ctx, scope))
			<-tenure.Done()
		}, []string{"asked lock", "granted lock", "lost (cut off) after 1s"}},
		"a lease that is made longer": {true, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			tenure := must(c.Lock(ctx, scope)).(lock.Extender)
			_ = tenure.Extend(ctx, 5*time.Second)
			c.Crash()
			_ = tenure.Extend(ctx, 5*time.Second)
		}, []string{"asked lock", "granted lock", "renewed extend", "renewal failed extend (unknown)"}},
		"a tenure that is made longer": {false, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			tenure := must(c.Lock(ctx, scope)).(lock.Extensible)
			_ = tenure.Extend(ctx, 5*time.Second)
			c.Crash()
			_ = tenure.Extend(ctx, 5*time.Second)
		}, []string{"asked lock", "granted lock", "renewed extend", "renewal failed extend (unknown)"}},
		"a lease that is over": {true, func(ctx context.Context, m *locktest.Memory, c locktest.Client) {
			tenure := must(c.Lock(ctx, scope))
			<-tenure.Done()
			_ = tenure.(lock.Extender).Extend(ctx, 5*time.Second)
		}, []string{"asked lock", "granted lock", "lost (cut off) after 1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := locktest.NewMemory(time.Second)
				if story.fixed {
					m = locktest.NewFixedLease(time.Second)
				}
				var o events
				c := m.Open()
				c.Backend = lock.Observe(c.Backend, &o)
				story.tell(t.Context(), m, c)
				o.want(t, story.want...)
				for i, e := range o.all {
					asks := e.Kind == lock.Asked || e.Kind == lock.NotGranted
					if e.Scope != scope || asks != (e.Grant == lock.Grant{}) || !asks && e.Grant.Scope != scope {
						t.Errorf("%s: %+v", o.said[i], e)
					}
				}
				c.Wake()
				c.Close() // which ends what the story has left
			})
		})
	}
}

// scripted is a tenure, or the Backend that grants it, with nothing behind it.
type scripted struct {
	done   chan struct{}
	unlock func() error
	listen []func(time.Duration, error)
}

func newScripted(unlock func() error) *scripted {
	return &scripted{done: make(chan struct{}), unlock: unlock}
}

func (s *scripted) TryLock(context.Context, string) (lock.Tenure, error) { return s, nil }
func (s *scripted) Lock(context.Context, string) (lock.Tenure, error)    { return s, nil }

func (s *scripted) Grant() lock.Grant                      { return lock.Grant{Scope: scope, Token: 7} }
func (s *scripted) Done() <-chan struct{}                  { return s.done }
func (s *scripted) Err() error                             { return nil }
func (s *scripted) Unlock(context.Context) error           { return s.unlock() }
func (s *scripted) OnRenewal(f func(time.Duration, error)) { s.listen = append(s.listen, f) }

func (s *scripted) renewed(took time.Duration, err error) {
	for _, f := range s.listen {
		f(took, err)
	}
}

// TestObserveRenewals: they are told from the grant to the end, by the call's context.
func TestObserveRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var inner, outer events
		s := newScripted(func() error { return nil })
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "call"))
		tenure, err := lock.Observe(lock.Observe(s, &inner), &outer).Lock(ctx, scope)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		s.renewed(20*time.Millisecond, nil)
		s.renewed(time.Second, lock.ErrCutOff)
		close(s.done)
		_ = tenure.Unlock(t.Context())
		s.renewed(time.Second, nil)
		for _, o := range []*events{&inner, &outer} {
			o.want(t, "asked lock", "granted lock", "renewed after 20ms", "renewal failed (cut off) after 1s", "released unlock")
			for i, ctx := range o.ctx[2:4] {
				if ctx.Err() != nil || ctx.Value(key{}) != "call" {
					t.Errorf("renewal %d was told by %v", i, ctx)
				}
			}
		}
	})
}

// TestObserveUnlocksAtOnce: of two calls one frees the lock, whichever answer comes first; and
// where both find it lost it is lost once.
func TestObserveUnlocksAtOnce(t *testing.T) {
	for _, tt := range []struct {
		slow, quick error
		want        string
	}{
		{nil, lock.ErrLost, "released unlock after 1s"},
		{lock.ErrLost, nil, "released unlock"},
		{lock.ErrLost, lock.ErrLost, "lost unlock (lost) after 1s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var o events
			s := newScripted(func() error { time.Sleep(time.Second); return tt.slow })
			tenure := mustTake(t, lock.Observe(s, &o), scope)
			go tenure.Unlock(t.Context())
			synctest.Wait()
			s.unlock = func() error { return tt.quick }
			_ = tenure.Unlock(t.Context())
			time.Sleep(time.Second)
			o.want(t, "asked lock", "granted lock", tt.want)
			close(s.done)
		})
	}
}

// TestObserveKeepsWhatThereIs: what a Backend and its tenures are they are when observed, and
// nothing else.
func TestObserveKeepsWhatThereIs(t *testing.T) {
	is := func(b lock.Backend, tenure lock.Tenure) (all []string) {
		for name, ok := range map[string]bool{
			"Sharer":     func() bool { _, ok := b.(lock.Sharer); return ok }(),
			"Expirer":    func() bool { _, ok := tenure.(lock.Expirer); return ok }(),
			"Extender":   func() bool { _, ok := tenure.(lock.Extender); return ok }(),
			"Renewer":    func() bool { _, ok := tenure.(lock.Renewer); return ok }(),
			"Extensible": func() bool { _, ok := tenure.(lock.Extensible); return ok }(),
		} {
			if ok {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return all
	}
	for name, b := range map[string]lock.Backend{
		"renewed":                 newScripted(nil),
		"renewed, and extensible": lengthening{newScripted(nil)},
		"memory":                  locktest.NewMemory(time.Minute).Open().Backend,
		"fixed":                   locktest.NewFixedLease(time.Minute).Open().Backend,
		"expiring":                expiring{newScripted(nil)},
		"local":                   new(local),
	} {
		seen := lock.Observe(b, new(events))
		plain, observed := is(b, mustTake(t, b, "/a")), is(seen, mustTake(t, seen, "/b"))
		if !slices.Equal(plain, observed) {
			t.Errorf("%s is %q, and observed %q", name, plain, observed)
		}
	}
}

// expiring grants tenures that are Expirers alone.
type expiring struct{ lock.Backend }

type expirer struct{ lock.Tenure }

func (expirer) Until() time.Time { return time.Time{} }

func (e expiring) Lock(ctx context.Context, scope string) (lock.Tenure, error) {
	tenure, err := e.Backend.Lock(ctx, scope)
	return expirer{tenure}, err
}

// lengthening has tenures that are renewed, and can be made longer.
type lengthening struct{ *scripted }

func (l lengthening) Lock(context.Context, string) (lock.Tenure, error) { return l, nil }

func (lengthening) Extend(context.Context, time.Duration) error { return nil }

func mustTake(t *testing.T, b lock.Backend, scope string) lock.Tenure {
	t.Helper()
	tenure, err := b.Lock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}

// TestObserveAround: Do, Multi, Reenter and Shared work with an observed Backend.
func TestObserveAround(t *testing.T) {
	bubble(t, func(t *testing.T, m *locktest.Memory) {
		var o events
		b := lock.Observe(m.Open().Backend, &o)
		nothing := func(context.Context, lock.Grant) error { return nil }
		again := lock.Reenter(b)
		err := errors.Join(
			lock.Do(t.Context(), b, scope, nothing),
			lock.Multi(t.Context(), b, []string{scope, "/other"}, func(context.Context, []lock.Grant) error { return nil }),
			lock.Do(t.Context(), lock.Shared(b.(lock.Sharer)), scope, nothing),
			lock.Do(t.Context(), again, scope, func(ctx context.Context, _ lock.Grant) error {
				return lock.Do(ctx, again, scope, nothing)
			}))
		if err != nil {
			t.Error(err)
		}
		one := []string{"asked lock", "granted lock", "released unlock"}
		o.want(t, slices.Concat(one,
			[]string{"asked lock", "granted lock", "asked lock", "granted lock", "released unlock", "released unlock"},
			[]string{"asked rlock", "granted rlock", "released unlock"}, one)...)
	})
}

// TestObservedObeysTheLaws: an observer changes nothing.
func TestObservedObeysTheLaws(t *testing.T) {
	for name, service := range map[string]func(time.Duration) *locktest.Memory{"memory": locktest.NewMemory, "fixed": locktest.NewFixedLease} {
		t.Run(name, func(t *testing.T) {
			laws(t, func() locktest.Subject {
				subject := service(100 * time.Millisecond).Subject()
				subject.Slack = time.Second / 2
				open := subject.Open
				subject.Open = func(ctx context.Context) (locktest.Client, error) {
					c, err := open(ctx)
					c.Backend = lock.Observe(c.Backend, new(events))
					return c, err
				}
				return subject
			})
		})
	}
}
