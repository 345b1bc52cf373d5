package fencelab_test

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"net/http"
	"testing"

	"github.com/go-redsync/redsync/v4"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// docs/library.md, docs/rollout.md and docs/scale.md show what is here and in examples/pay;
// TestReadmeIsCompiled holds them to it.

func service(orders http.Handler) http.Handler {
	var marks fence.Register
	return fencehttp.Middleware(&marks, fencehttp.Options{
		Scope: func(*http.Request) string { return "/orders" }, // the lock that guards them
	})(orders)
}

func client(req *http.Request, g lock.Grant) (*http.Response, error) {
	web := &http.Client{Transport: &fencehttp.Transport{}}
	fencehttp.SetClaim(req.Header, g.Claim()) // the token, and the lock it belongs to
	return web.Do(req)                        // fence.ErrStale if a later holder was there
}

func both(ctx context.Context, old *redsync.Mutex, backend lock.Backend, work func(context.Context, lock.Grant) error) error {
	if err := old.LockContext(ctx); err != nil {
		return err
	}
	defer old.Unlock()
	return lock.Do(ctx, backend, "/orders", work)
}

// inTx is a Guard in a transaction of its user's.
type inTx struct{ *sql.Tx }

func (g inTx) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	return fencesql.Do(ctx, g.Tx, fencesql.PostgreSQL, c, func() error { return op(ctx) })
}

// clusterOf is the number of the cluster that has the lock of a scope, its mark and its data.
func clusterOf(scope string, clusters int) int {
	h := fnv.New32a()
	h.Write([]byte(scope))
	return int(h.Sum32() % uint32(clusters))
}

// epoch is how often the number of clusters has changed.
const epoch = 0

func pay(ctx context.Context, clusters []*clientv3.Client, locks []*etcdlock.Backend, scope string) error {
	i := clusterOf(scope, len(clusters))
	return lock.Do(ctx, locks[i], scope, func(ctx context.Context, g lock.Grant) error {
		c := g.Claim()
		c.Token += epoch << 48 // above all tokens of the epochs before
		_, err := fenceetcd.Do(ctx, clusters[i], c, clientv3.OpPut("data"+scope, "paid"))
		return err
	})
}

var _, _, _, _ = service, client, both, pay

var _ fence.Guard = inTx{}

// TestClusterOf: scopes are spread evenly, and most of them move where there is one more cluster.
func TestClusterOf(t *testing.T) {
	const scopes, clusters = 10_000, 4
	var of [clusters]int
	moved := 0
	for i := range scopes {
		scope := fmt.Sprint("/orders/", i)
		of[clusterOf(scope, clusters)]++
		if clusterOf(scope, clusters) != clusterOf(scope, clusters+1) {
			moved++
		}
	}
	for i, n := range of {
		if n < scopes/clusters*9/10 || n > scopes/clusters*11/10 {
			t.Errorf("cluster %d has %d of %d scopes", i, n, scopes)
		}
	}
	if moved < scopes*75/100 || moved > scopes*85/100 {
		t.Errorf("%d of %d scopes move, want four of five", moved, scopes)
	}
}
