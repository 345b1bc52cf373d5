package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// What Redis can lose, as the package says it.

// killAndRestart kills a server, and starts it with what it kept.
func killAndRestart(t *testing.T, s *redisproc.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
	defer cancel()
	if err := errors.Join(s.Process().Kill(), s.Restart(ctx)); err != nil {
		t.Fatal(err)
	}
}

// TestRestart: by what it keeps, a lock is lost, its holder is told, and tokens start again.
func TestRestart(t *testing.T) {
	t.Parallel()
	for persistence, keeps := range map[string]bool{"none": false, "always": true} {
		t.Run(persistence, func(t *testing.T) {
			t.Parallel()
			s := redistest.Real(t, redisproc.Settings(t.TempDir(), persistence)...)
			a := join(t, s, own(renewed))
			wantUnlock(t, a.take(t))
			tenure := a.take(t)
			killAndRestart(t, s)
			b := join(t, s, own(renewed))
			next := fence.Token(3)
			if keeps {
				wantLocked(t, b.TryLock)
				wantUnlock(t, tenure)
			} else {
				next = 1
				wantEnd(t, tenure, lock.ErrLost)
			}
			if token := b.take(t).Grant().Token; token != next {
				t.Errorf("the next token is %d, want %d", token, next)
			}
		})
	}
}

// TestPausedServer: a holder that is not answered for the TTL is cut off, and its lease is
// over for Redis as well.
func TestPausedServer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *redisproc.Server) {
		a, b := join(t, s, own(ttl)), join(t, s, own(long))
		tenure := a.take(t)
		if err := s.Process().Pause(); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, tenure, lock.ErrCutOff)
		if err := s.Process().Resume(); err != nil {
			t.Fatal(err)
		}
		next := b.take(t)
		if err := tenure.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Errorf("Unlock returned %v, want ErrLost", err)
		}
		wantUnlock(t, next)
	})
}

// TestWaiterOutlivesARestart: those who wait connect again.
func TestWaiterOutlivesARestart(t *testing.T) {
	t.Parallel()
	s := redistest.Real(t, redisproc.Settings(t.TempDir(), "always")...)
	a, b := join(t, s, own(long)), join(t, s, own(long))
	holder := a.take(t)
	asked := scripts{answered: make(chan struct{}, 100)}
	b.client.AddHook(asked)
	waiting := inBackground(t.Context(), b.Lock)
	<-asked.answered
	<-asked.answered // when it listens it asks again
	killAndRestart(t, s)
	c := join(t, s, own(long))
	c.listeners(t, channel, 1)
	wantUnlock(t, holder)
	wantGrant(t, waiting)
}

// TestEviction: which policy takes the lock, and which the counter of tokens.
func TestEviction(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]struct {
		kept  bool
		token fence.Token // of the next grant
	}{"allkeys-lru": {false, 1}, "volatile-lru": {false, 2}, "noeviction": {true, 0}} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			settings := append(redisproc.Settings(t.TempDir(), "none"), "--maxmemory", "8mb", "--maxmemory-policy", policy)
			a := join(t, redistest.Real(t, settings...), own(long))
			a.take(t)
			filler := strings.Repeat("x", 1<<16)
			full := false
			for i := range 1000 {
				err := a.client.Set(t.Context(), fmt.Sprint("filler", i), filler, 2*long).Err()
				if full = err != nil; full {
					break
				}
			}
			if full != want.kept {
				t.Errorf("there is no room left: %v, want %v", full, want.kept)
			}
			if n := a.client.Exists(t.Context(), key).Val(); n == 1 != want.kept {
				t.Fatalf("the lock is there: %v, want %v", n == 1, want.kept)
			}
			if want.kept {
				if err := a.client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
					t.Fatal(err)
				}
				_, err := a.TryLock(t.Context(), "/other")
				if unknown := new(lock.UnknownError); err == nil || errors.As(err, &unknown) {
					t.Errorf("without room TryLock returned %v, want an error, and nothing unknown", err)
				}
				return
			}
			if token := a.take(t).Grant().Token; token != want.token {
				t.Errorf("the next token is %d, want %d", token, want.token)
			}
		})
	}
}
