package fenceredis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/service/redis/redistest"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// bySentinels is a client of the master that sentinels name.
func bySentinels(t *testing.T, sentinels []string) redis.UniversalClient {
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: redisproc.Watched, SentinelAddrs: sentinels, MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return client
}

// ofCluster is a client of a cluster.
func ofCluster(t *testing.T, all []*redisproc.Server) redis.UniversalClient {
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: redistest.Addrs(all), MaxRetries: -1})
	t.Cleanup(func() { client.Close() })
	return client
}

// TestLawsOfGroups: the laws hold where sentinels watch the server, and in a cluster.
func TestLawsOfGroups(t *testing.T) {
	t.Run("sentinels", func(t *testing.T) {
		_, _, sentinels := redistest.Watched(t)
		fencetest.Run(t, subjectBy(func() redis.UniversalClient { return bySentinels(t, sentinels) }))
	})
	t.Run("cluster", func(t *testing.T) {
		all := redistest.Cluster(t)
		fencetest.Run(t, subjectBy(func() redis.UniversalClient { return ofCluster(t, all) }))
	})
}

// TestSentinelsPromote: a mark that has reached the replica refuses there what is stale.
func TestSentinelsPromote(t *testing.T) {
	master, replica, sentinels := redistest.Watched(t)
	client := bySentinels(t, sentinels)
	if err := do(t.Context(), client, 34); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Deadline)
	defer cancel()
	next := redistest.Connect(t, replica)
	for next.Get(ctx, "{/lock}k").Val() != "34" && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if err := master.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	err := do(ctx, client, 33)
	for ; err != nil && !errors.Is(err, fence.ErrStale) && ctx.Err() == nil; err = do(ctx, client, 33) {
		time.Sleep(10 * time.Millisecond) // nobody is the master yet
	}
	if !errors.Is(err, fence.ErrStale) {
		t.Errorf("token 33 after 34, which the promoted replica had: %v, want it refused", err)
	}
}

// TestSlotMoves: a mark goes with its slot to another master. While it is under way with some of the keys of a claim,
// and not with others, nothing is done.
func TestSlotMoves(t *testing.T) {
	all := redistest.Cluster(t)
	client := ofCluster(t, all)
	if err := do(t.Context(), client, 34); err != nil {
		t.Fatal(err)
	}
	moving, err := redisproc.Find(t.Context(), all, "{/lock}k")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(moving.Begin(t.Context()), moving.Carry(t.Context(), "fence.mark:{/lock}")); err != nil {
		t.Fatal(err)
	}
	if err := do(t.Context(), client, 35); !redis.IsTryAgainError(err) || fence.OutcomeOf(err) != fence.Definite {
		t.Errorf("half of the keys are away: %v, outcome %v, want TRYAGAIN, definite", err, fence.OutcomeOf(err))
	}
	if err := errors.Join(moving.Carry(t.Context()), moving.End(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := do(t.Context(), client, 33); !errors.Is(err, fence.ErrStale) {
		t.Errorf("token 33 after 34, whose slot has moved: %v, want it refused", err)
	}
	if err := do(t.Context(), client, 35); err != nil {
		t.Errorf("token 35 after 34, whose slot has moved: %v, want it admitted", err)
	}
}
