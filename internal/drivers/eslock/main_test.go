// Package eslock_test has the tests of eslock that need a node.
package eslock_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/estest"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/eslock"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
)

// ttl is that of leases that are to end, long of those that are not.
const (
	ttl  = time.Second
	long = time.Minute
)

const scope = "/lock"

// node is that of all tests but those that restart one.
var node estest.Node

func TestMain(m *testing.M) { estest.Main(m, &node) }

// bounded is a context that ends with the test, or at the deadline.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), estest.Deadline)
	t.Cleanup(cancel)
	return ctx
}

// indexOf is the name of the index of a test, which it has for itself.
func indexOf(t *testing.T) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(t.Name()))
}

// created makes the index of a test on a node, which ends with the test, and returns the
// option for its backends.
func created(t *testing.T, addr string) eslock.Option {
	t.Helper()
	name := indexOf(t)
	t.Cleanup(func() { remove(t, addr, name) })
	option := eslock.Index(name)
	for range 2 { // the second time it is there
		if err := eslock.Create(bounded(t), "http://"+addr, option); err != nil {
			t.Fatal(err)
		}
	}
	return option
}

// client is a backend with a network of its own.
func client(addr string, ttl time.Duration, some ...eslock.Option) (locktest.Client, *eslock.Backend, error) {
	link, err := network.New(addr)
	if err != nil {
		return locktest.Client{}, nil, err
	}
	web := &http.Client{Transport: new(http.Transport)}
	b, err := eslock.New("http://"+link.Addr(), ttl, append(some, eslock.HTTP(web), eslock.Poll(20*time.Millisecond))...)
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

// subject is a node, whose clients have an index.
func subject(addr string, ttl time.Duration, some ...eslock.Option) locktest.Subject {
	return locktest.Subject{
		Open: func(context.Context) (locktest.Client, error) {
			c, _, err := client(addr, ttl, some...)
			return c, err
		},
		TTL: ttl, Slack: 5 * time.Second, // for a busy machine
		Shared: true, Inspects: true,
		Again: func(err error) bool { return strings.Contains(err.Error(), "the lease was over when the answer came") },
	}
}

// backend is one that is closed with the test, and how it is cut off and mended.
func backend(t *testing.T, addr string, ttl time.Duration, some ...eslock.Option) (*eslock.Backend, locktest.Client) {
	t.Helper()
	c, b, err := client(addr, ttl, some...)
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
