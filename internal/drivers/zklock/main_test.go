// Package zklock_test has the tests of zklock that need a server.
package zklock_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zktest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// ttl is the timeout of sessions that are to end, long that of those that are not.
const (
	ttl  = time.Second
	long = 30 * time.Second
)

const scope = "/lock"

func TestMain(m *testing.M) {
	proctest.Play(zkproc.Command(), proc.Janitor())
	goleak.VerifyTestMain(m)
}

// bounded is a context that ends with the test, or at the deadline.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), zktest.Deadline)
	t.Cleanup(cancel)
	return ctx
}

// linkTo is a client's network, to one server.
func linkTo(t *testing.T, addr string) *network.Link {
	t.Helper()
	l, err := network.New(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// cut has a link fall silent, mend lets it go on.
func cut(l *network.Link) {
	l.Tx.Shut()
	l.Rx.Shut()
}

func mend(l *network.Link) {
	l.Tx.Open()
	l.Rx.Open()
}

// backend is one on some servers, with a session of its own.
func backend(t *testing.T, timeout time.Duration, servers []string, some ...zklock.Option) *zklock.Backend {
	t.Helper()
	b, err := zklock.New(servers, timeout, some...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func take(ctx context.Context, t *testing.T, b lock.Backend) lock.Tenure {
	t.Helper()
	tenure, err := b.Lock(ctx, scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}

func unlock(ctx context.Context, t *testing.T, tenure lock.Tenure) {
	t.Helper()
	if err := tenure.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
}
