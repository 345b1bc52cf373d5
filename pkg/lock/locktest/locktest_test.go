package locktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

const ttl = time.Second

// caught returns the names of the laws that subject breaks. Each law gets a
// subject of its own, and its own fake time.
func caught(t *testing.T, subject func() locktest.Subject) []string {
	var names []string
	for _, l := range locktest.Laws {
		synctest.Test(t, func(t *testing.T) {
			if err := l.Check(t.Context(), subject()); err != nil {
				t.Logf("%s: %v", l.Name, err)
				names = append(names, l.Name)
			}
			time.Sleep(time.Hour) // calls that outlive the check come to their end
		})
	}
	return names
}

func correct() locktest.Subject { return locktest.NewMemory(ttl).Subject() }

func TestMemoryObeysAllLaws(t *testing.T) {
	if got := caught(t, correct); got != nil {
		t.Errorf("the laws %q are broken", got)
	}
}

func TestBrokenBackendsAreCaught(t *testing.T) {
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			got := caught(t, func() locktest.Subject { return b.subject(correct()) })
			if !slices.Equal(got, b.caughtBy) {
				t.Errorf("the laws that catch it are %q, want %q", got, b.caughtBy)
			}
		})
	}
}

func TestEveryLawCatchesSomething(t *testing.T) {
	for _, l := range locktest.Laws {
		if !slices.ContainsFunc(broken, func(b brokenBackend) bool { return slices.Contains(b.caughtBy, l.Name) }) {
			t.Errorf("no broken backend is caught by %q", l.Name)
		}
	}
}

// TestNoToken: without ordered numbers all other laws hold, and none is invented.
func TestNoToken(t *testing.T) {
	without := func() locktest.Subject {
		s := tenures(func(*service) func(*tenure) {
			return func(t *tenure) { t.grant = func(g lock.Grant) lock.Grant { g.Token = 0; return g } }
		})(correct())
		s.NoToken = true
		return s
	}
	left := []string{
		"tokens grow after a release", "tokens grow after an expiry", "tokens grow under racing clients",
		"tokens grow after a service restart",
	}
	if got := caught(t, without); !slices.Equal(got, left) {
		t.Errorf("without tokens the laws %q are broken or left out, want that of %q", got, left)
	}
	inventing := func() locktest.Subject { s := correct(); s.NoToken = true; return s }
	left = slices.Concat([]string{"a grant is a value"}, left, []string{"a trylock grants as a lock does"})
	if got := caught(t, inventing); !slices.Equal(got, left) {
		t.Errorf("with tokens that are none: %q, want %q", got, left)
	}
}

// TestAgain: an error that says "try again" is no broken law, where the service
// says which one it is.
func TestAgain(t *testing.T) {
	busy := errors.New("serialization failure")
	subject := func(again func(error) bool) func() locktest.Subject {
		return func() locktest.Subject {
			var calls atomic.Int64
			s := opening(func(c *locktest.Client) {
				sometimes := func(attempt lockFunc) lockFunc {
					return func(ctx context.Context, scope string) (lock.Tenure, error) {
						if calls.Add(1)%3 == 0 {
							return nil, busy
						}
						return attempt(ctx, scope)
					}
				}
				c.Backend = methods{sometimes(c.TryLock), sometimes(c.Lock)}
			})(correct())
			s.Again = again
			return s
		}
	}
	if got := caught(t, subject(nil)); got == nil {
		t.Error("no law is broken, though nobody says what the error means")
	}
	if got := caught(t, subject(func(err error) bool { return errors.Is(err, busy) })); got != nil {
		t.Errorf("the laws %q are broken", got)
	}
}

func TestSubjectSaysWhatItIs(t *testing.T) {
	s := correct()
	if got, want := s.String(), "a TTL of 1s and 1s of slack, ordered tokens, can be restarted, wants no call again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Restart, s.NoToken, s.Again = nil, true, func(error) bool { return false }
	if got, want := s.String(), "a TTL of 1s and 1s of slack, no ordered tokens, cannot be restarted, may want a call again"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSkipsSayWhy(t *testing.T) {
	for _, test := range []struct {
		missing string
		without func(locktest.Subject) locktest.Subject
		skipped int
	}{
		{"Restart", func(s locktest.Subject) locktest.Subject { s.Restart = nil; return s }, 2},
		{"Wake", opening(func(c *locktest.Client) { c.Wake = nil }), 3},
		{"Crash", opening(func(c *locktest.Client) { c.Crash = nil }), 9},
	} {
		skipped := 0
		for _, l := range locktest.Laws {
			synctest.Test(t, func(t *testing.T) {
				err := l.Check(t.Context(), test.without(correct()))
				if !errors.Is(err, errors.ErrUnsupported) {
					return
				}
				skipped++
				if !strings.Contains(err.Error(), test.missing) {
					t.Errorf("%s is skipped with %q, which does not say %s", l.Name, err, test.missing)
				}
			})
		}
		if skipped != test.skipped {
			t.Errorf("without %s, %d laws are skipped, want %d", test.missing, skipped, test.skipped)
		}
	}
}

// opening changes each client that is opened.
func opening(change func(*locktest.Client)) func(locktest.Subject) locktest.Subject {
	return func(s locktest.Subject) locktest.Subject {
		open := s.Open
		s.Open = func(ctx context.Context) (locktest.Client, error) {
			c, err := open(ctx)
			change(&c)
			return c, err
		}
		return s
	}
}
