package redislock_test

import (
	"errors"
	"testing"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

const readers = key + ":readers"

func (p party) rlock(t *testing.T) lock.Tenure {
	t.Helper()
	return granted(t, p.Backend.(lock.Sharer).RLock)
}

// ways are those in which readers and writers are served.
func ways(t *testing.T, test func(*testing.T, *redisproc.Server, ...redislock.Option)) {
	t.Parallel()
	for name, some := range map[string][]redislock.Option{"as they ask": nil, "fair": {redislock.Fair()}} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *redisproc.Server) { test(t, s, some...) })
		})
	}
}

// TestLeasesOfReaders: each has its own, however long the others' are.
func TestLeasesOfReaders(t *testing.T) {
	ways(t, func(t *testing.T, s *redisproc.Server, some ...redislock.Option) {
		long, short := join(t, s, own(long, some...)), join(t, s, own(ttl, append(some, redislock.FixedLease())...))
		for name, readers := range map[string][]party{"the shorter one comes first": {short, long}, "last": {long, short}} {
			t.Run(name, func(t *testing.T) {
				tenures := make(map[party]lock.Tenure)
				for _, reader := range readers {
					tenures[reader] = reader.rlock(t)
				}
				wantEnd(t, tenures[short], lock.ErrCutOff)
				wantLocked(t, short.TryLock)
				writer := inBackground(t.Context(), short.Lock)
				long.listeners(t, channel, 1)
				wantUnlock(t, tenures[long])
				wantUnlock(t, wantGrant(t, writer))
				if err := tenures[short].Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
					t.Errorf("the shorter one's Unlock returned %v, want ErrLost", err)
				}
			})
		}
	})
}

// TestWriterIsToldOfTheLastReader, though one with a shorter lease is left, and dies. The
// writer would ask by itself after the deadline.
func TestWriterIsToldOfTheLastReader(t *testing.T) {
	ways(t, func(t *testing.T, s *redisproc.Server, some ...redislock.Option) {
		a, b := join(t, s, own(6*redistest.Deadline, some...)), join(t, s, own(ttl, append(some, redislock.FixedLease())...))
		reader := a.rlock(t)
		b.rlock(t)
		writer := inBackground(t.Context(), a.Lock)
		a.listeners(t, channel, 1)
		wantUnlock(t, reader)
		wantGrant(t, writer)
	})
}

// TestLossOfAReaderIsTold: a renewal does not begin its lease again.
func TestLossOfAReaderIsTold(t *testing.T) {
	ways(t, func(t *testing.T, s *redisproc.Server, some ...redislock.Option) {
		a := join(t, s, own(renewed, some...))
		lost, kept := a.rlock(t), a.rlock(t)
		if err := a.client.ZRem(t.Context(), readers, lost.Grant().Owner).Err(); err != nil {
			t.Fatal(err)
		}
		wantEnd(t, lost, lock.ErrLost)
		if n := a.client.ZCard(t.Context(), readers).Val(); n != 1 {
			t.Errorf("there are %d readers, want the one that was not lost", n)
		}
		wantUnlock(t, kept)
	})
}

// TestReadersSentAgain: what was done before is known, as with writers.
func TestReadersSentAgain(t *testing.T) {
	ways(t, func(t *testing.T, s *redisproc.Server, some ...redislock.Option) {
		a := join(t, s, own(long, some...))
		a.client.AddHook(hook(twice))
		for range 3 {
			reader := a.rlock(t)
			wantUnlock(t, reader)
			if err := reader.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
				t.Errorf("a second Unlock returned %v, want ErrLost", err)
			}
			wantUnlock(t, a.take(t))
		}
	})
}
