package locktest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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
			if diff := cmp.Diff(b.caughtBy, got); diff != "" {
				t.Errorf("laws that catch it (-want +got):\n%s", diff)
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

func TestSkipsSayWhy(t *testing.T) {
	for _, test := range []struct {
		missing string
		without func(locktest.Subject) locktest.Subject
		skipped int
	}{
		{"Restart", func(s locktest.Subject) locktest.Subject { s.Restart = nil; return s }, 1},
		{"Wake", opening(func(c *locktest.Client) { c.Wake = nil }), 2},
		{"Crash", opening(func(c *locktest.Client) { c.Crash = nil }), 5},
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
