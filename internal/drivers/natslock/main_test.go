// Package natslock_test has the tests of natslock that need a server.
package natslock_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc/natstest"
	"github.com/fencelab/fencelab/pkg/lock/locktest"
	"github.com/fencelab/fencelab/pkg/lock/natslock"
)

// Leases of ttl are to end, those of long are not.
const (
	ttl  = time.Second
	long = time.Minute
)

const (
	scope    = "/lock"
	deadline = time.Minute // for what is sure to happen
)

func TestMain(m *testing.M) {
	proctest.Play(natsproc.Command(), proc.Janitor())
	os.Exit(m.Run())
}

// bounded is a context that ends with the test, or at the deadline.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// start starts servers whose bucket is on all of them.
func start(t *testing.T, members int) *natsproc.Cluster {
	t.Helper()
	natstest.Need(t)
	c, err := natsproc.Start(bounded(t), proctest.Group(t), natsproc.Config{Members: members})
	if err != nil {
		t.Fatal(err)
	}
	create(t, c, natslock.Replicas(members))
	return c
}

// create makes a bucket. A cluster that has just begun makes none before it has a leader.
func create(t *testing.T, c *natsproc.Cluster, some ...natslock.Option) {
	t.Helper()
	ctx := bounded(t)
	js, end, err := dial(c.Members[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for err = natslock.Create(ctx, js, some...); err != nil; err = natslock.Create(ctx, js, some...) {
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func dial(addr string) (jetstream.JetStream, func(), error) {
	conn, err := nats.Connect("nats://"+addr, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ReconnectBufSize(-1), nats.IgnoreDiscoveredServers())
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(time.Second))
	return js, conn.Close, err
}

// subject is a lock service of one server, whose clients each have a network of their own.
func subject(addr string, ttl time.Duration) locktest.Subject {
	return locktest.Subject{
		Open:     func(ctx context.Context) (locktest.Client, error) { return client(ctx, addr, ttl) },
		Inspects: true,
		TTL:      ttl,
		Slack:    5 * time.Second, // for a busy machine, and for a server that ends keys once a second
	}
}

func client(ctx context.Context, addr string, ttl time.Duration) (locktest.Client, error) {
	link, err := network.NewGreeted(addr)
	if err != nil {
		return locktest.Client{}, err
	}
	js, end, err := dial(link.Addr())
	if err != nil {
		link.Close()
		return locktest.Client{}, err
	}
	var b *natslock.Backend
	for b, err = natslock.New(ctx, js, ttl); err != nil && ctx.Err() == nil; b, err = natslock.New(ctx, js, ttl) {
		// No server leads the bucket yet.
	}
	return locktest.Client{
		Backend: b,
		Crash:   func() { cut(link) },
		Wake:    func() { mend(link) },
		Close: func() {
			mend(link)
			end()
			link.Close()
		},
	}, err
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
