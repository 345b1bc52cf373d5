// Package k8slock_test has the tests of k8slock that need an API server.
package k8slock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc/kubetest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/k8slock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// ttl is the TTL of leases that are to end, long the TTL of those that are not.
const (
	ttl  = time.Second
	long = time.Minute
)

const (
	scope    = "lock"
	deadline = 2 * time.Minute // for what is sure to happen
)

func TestMain(m *testing.M) { proctest.Main(m, kubeproc.Command(), etcdcmd.Command()) }

// bounded is a context that ends with the test, or at the deadline.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// client is a backend with a network of its own.
func client(addr string, ttl time.Duration) (locktest.Client, *k8slock.Backend, error) {
	link, err := network.New(addr)
	if err != nil {
		return locktest.Client{}, nil, err
	}
	web := kubetest.Client()
	b, err := k8slock.New("https://"+link.Addr(), "default", ttl, k8slock.HTTP(web), k8slock.Poll(20*time.Millisecond))
	mend := func() {
		link.Tx.Open()
		link.Rx.Open()
	}
	return locktest.Client{
		Backend: b,
		Crash:   func() { link.Tx.Shut(); link.Rx.Shut() },
		Wake:    mend,
		Close: func() {
			mend()
			link.Close()
			web.CloseIdleConnections()
		},
	}, b, err
}

// subject is an API server.
func subject(addr string, ttl time.Duration) locktest.Subject {
	return locktest.Subject{
		Open: func(context.Context) (locktest.Client, error) {
			c, _, err := client(addr, ttl)
			return c, err
		},
		TTL: ttl, Slack: 5 * time.Second, // for a busy machine
		Inspects: true,
		Again:    func(err error) bool { return strings.Contains(err.Error(), "the lease was over when the answer came") },
	}
}

// backend is one that is closed with the test, and how it is cut off and mended.
func backend(t *testing.T, addr string, ttl time.Duration) (*k8slock.Backend, locktest.Client) {
	t.Helper()
	c, b, err := client(addr, ttl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return b, c
}

func take(t *testing.T, b lock.Backend) lock.Tenure {
	t.Helper()
	tenure, err := b.Lock(bounded(t), scope)
	if err != nil {
		t.Fatal(err)
	}
	return tenure
}
