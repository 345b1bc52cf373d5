package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// bySentinels is a client of the master that sentinels name.
func bySentinels(addrs []string) sort {
	return func(dial dialer) redis.UniversalClient {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redisproc.Watched, SentinelAddrs: addrs, Dialer: dial, ReadTimeout: ttl, MaxRetries: -1})
	}
}

// ofCluster is a client of a cluster. It appends to the addresses that it is given.
func ofCluster(addrs []string) sort {
	return func(dial dialer) redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: slices.Clone(addrs), Dialer: dial, ReadTimeout: ttl, MaxRetries: -1})
	}
}

// TestLawsOfGroups: the laws hold where sentinels watch the server, and in a cluster.
func TestLawsOfGroups(t *testing.T) {
	t.Parallel()
	for _, group := range []struct {
		name  string
		start func(*testing.T) sort
	}{
		{"sentinels", func(t *testing.T) sort {
			_, _, sentinels := redistest.Watched(t)
			return bySentinels(sentinels)
		}},
		{"cluster", func(t *testing.T) sort { return ofCluster(redistest.Addrs(redistest.Cluster(t))) }},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			connect := group.start(t)
			for _, k := range kinds() {
				t.Run(k.name, func(t *testing.T) {
					t.Parallel()
					if k.name != "fair, clock tokens" { // which has the most keys
						need.Night(t, "to check the laws of all locks beside sentinels and in a cluster, too")
					}
					lawsBy(t, k, connect)
				})
			}
		})
	}
}

// joinBy connects a client of some sort.
func joinBy(t *testing.T, connect sort, ttl time.Duration) lock.Backend {
	t.Helper()
	client := connect(nil)
	t.Cleanup(func() { client.Close() })
	b, err := redislock.New(client, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSentinelsPromote: a tenure that has reached the replica goes on there, and a waiter is granted the lock there,
// by a higher token.
func TestSentinelsPromote(t *testing.T) {
	t.Parallel()
	master, _, sentinels := redistest.Watched(t)
	a, b := joinBy(t, bySentinels(sentinels), 3*renewed), joinBy(t, bySentinels(sentinels), 3*renewed)
	holder := granted(t, a.Lock)
	(&pair{}).caughtUp(t, redistest.Connect(t, master))
	if err := master.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	waiting := inBackground(t.Context(), func(ctx context.Context, scope string) (lock.Tenure, error) {
		for {
			tenure, err := b.Lock(ctx, scope)
			if err == nil || !sleep.For(ctx, 10*time.Millisecond) {
				return tenure, err
			} // nobody is the master yet
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
	defer cancel()
	for holder.Unlock(ctx) != nil && sleep.For(ctx, 10*time.Millisecond) {
	}
	next := wantGrant(t, waiting)
	if next.Grant().Token <= holder.Grant().Token {
		t.Errorf("after token %d the next one is %d", holder.Grant().Token, next.Grant().Token)
	}
	wantUnlock(t, next)
}

// TestSlotMoves: a lock goes with its slot to another master. Its holder renews it there, and releases it; a waiter
// is granted it there, by a higher token. While some of the lock's keys are away, one attempt fails, and does nothing;
// a waiter goes on.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t)
	connect := ofCluster(redistest.Addrs(all))
	a, b := joinBy(t, connect, renewed), joinBy(t, connect, renewed)
	key := "lock:{" + scope + "}"
	moving, err := redisproc.Find(t.Context(), all, key)
	if err != nil {
		t.Fatal(err)
	}
	holder := granted(t, a.Lock)
	if err := errors.Join(moving.Begin(t.Context()), moving.Carry(t.Context(), key)); err != nil {
		t.Fatal(err)
	}
	waiting := inBackground(t.Context(), b.Lock)
	if _, err := b.TryLock(t.Context(), scope); errors.Is(err, lock.ErrLocked) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("TryLock, while the keys are on two masters: %v, outcome %v, want another error, definite", err, fence.OutcomeOf(err))
	}
	if err := errors.Join(moving.Carry(t.Context()), moving.End(t.Context())); err != nil {
		t.Fatal(err)
	}
	if ttl := redistest.Connect(t, moving.To).PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > renewed {
		t.Errorf("the lock has come with a TTL of %v, want one of up to %v", ttl, renewed)
	}
	wantLocked(t, b.TryLock)
	wantUnlock(t, holder)
	next := wantGrant(t, waiting)
	if next.Grant().Token <= holder.Grant().Token {
		t.Errorf("after token %d the next one is %d", holder.Grant().Token, next.Grant().Token)
	}
	wantUnlock(t, next)
}

// TestQuorumOfOneCluster: clients that name the same node of a cluster are refused. Those that do not are three votes
// by one key, on one master.
func TestQuorumOfOneCluster(t *testing.T) {
	t.Parallel()
	addrs := redistest.Addrs(redistest.Cluster(t))
	quorum := func(seeds ...[]string) (lock.Backend, error) {
		var votes []redis.UniversalClient
		for _, seed := range seeds {
			client := ofCluster(seed)(nil)
			t.Cleanup(func() { client.Close() })
			votes = append(votes, client)
		}
		return redislock.Quorum(votes, long)
	}
	if _, err := quorum(addrs[:2], addrs[2:], addrs[1:2]); err == nil || !strings.Contains(err.Error(), "node 3 of the quorum is node 1 as well") {
		t.Errorf("two clients name the second server: %v, want it refused", err)
	}
	q, err := quorum(addrs[:1], addrs[1:2], addrs[2:])
	if err != nil {
		t.Fatal(err)
	}
	holder := granted(t, q.TryLock)
	keys := 0
	for _, addr := range addrs {
		client := connect(addr)
		t.Cleanup(func() { client.Close() })
		keys += len(client.Keys(t.Context(), "*").Val())
	}
	if keys != 1 {
		t.Errorf("three votes are %d keys, want one", keys)
	}
	if err := holder.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("Unlock: %v, want ErrLost, as the first vote has deleted what the others look for", err)
	}
}
