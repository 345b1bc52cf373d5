package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// lockTTL is that of both contenders' leases. None is to run out.
const lockTTL = time.Minute

// wantLocks is the goal: etcdlock takes at most so many times the time of package
// concurrency.
const wantLocks = 1.6

// locks compares etcdlock with a Mutex of package concurrency.
func (b *bench) locks() error {
	etcd, err := b.start(func(addr string) []string {
		return []string{roleEtcd, addr, filepath.Join(b.group.Dir, "locks")}
	})
	if err != nil {
		return err
	}
	t := b.report.table("Lock and unlock in etcd",
		"A lock is taken and given back at once, by etcdlock and by a Mutex of package concurrency whose session is kept. Each client has a connection, and a Backend or a session, of its own. *of concurrency.Mutex*: the time that a lock and its unlock take as a part of that of the Mutex, of the same round.",
		"clients", "locks", "", "locks/s", "of concurrency.Mutex, time", "processor time a lock of etcd, client")
	for _, c := range []struct {
		clients int
		locks   string
		scope   func(client int) string
	}{
		{1, "a free one", ownLock},
		{16, "one each", ownLock},
		{16, "one for all", func(int) string { return "/lock" }},
	} {
		results, err := b.raceLocks(etcd, c.clients, c.scope)
		if err != nil {
			return err
		}
		ours, mutex := results[0], results[1]
		for _, r := range results {
			t.add(fmt.Sprint(c.clients), c.locks, r.name, rate(r.rates), ratios(mutex.rates, r.rates).String(),
				micros(r.server)+", "+micros(r.client))
		}
		b.report.goal(fmt.Sprintf("lock and unlock, etcdlock against concurrency.Mutex with a kept session, clients: %d, %s; time of the Mutex's", c.clients, c.locks),
			atMost, wantLocks, ratios(mutex.rates, ours.rates))
	}
	return stop(etcd)
}

func ownLock(client int) string { return fmt.Sprint("/lock-", client) }

// raceLocks has clients lock and unlock by etcdlock, and as many by Mutexes.
func (b *bench) raceLocks(etcd *server, clients int, scope func(client int) string) (_ []result, err error) {
	var ours, mutexes lockers
	defer func() { ours.close(); mutexes.close() }()
	for i := range clients {
		if err := ours.join(etcd.addr, scope(i), byEtcdlock); err != nil {
			return nil, err
		}
		if err := mutexes.join(etcd.addr, scope(i), byMutex); err != nil {
			return nil, err
		}
	}
	return b.race(
		contender{"etcdlock", ours.turn, etcd},
		contender{"concurrency.Mutex", mutexes.turn, etcd})
}

// lockers are clients of etcd, each with what locks and unlocks once.
type lockers struct {
	clients []*clientv3.Client
	once    []func(context.Context) error
}

// join adds a client.
func (l *lockers) join(addr, scope string, by func(*clientv3.Client, string) (func(context.Context) error, error)) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	l.clients = append(l.clients, client)
	once, err := by(client, scope)
	l.once = append(l.once, once)
	return err
}

func (l *lockers) close() {
	for _, c := range l.clients {
		c.Close()
	}
}

// turn has the form of contender.turn.
func (l *lockers) turn(d time.Duration) (int, time.Duration, error) {
	return takeTurn(len(l.once), d, func(ctx context.Context, i int) error { return l.once[i](ctx) })
}

func byEtcdlock(client *clientv3.Client, scope string) (func(context.Context) error, error) {
	backend, err := etcdlock.New(client, lockTTL)
	return func(ctx context.Context) error {
		tenure, err := backend.Lock(ctx, scope)
		if err != nil {
			return err
		}
		return tenure.Unlock(ctx)
	}, err
}

func byMutex(client *clientv3.Client, scope string) (func(context.Context) error, error) {
	ctx, cancel := context.WithTimeout(client.Ctx(), startTimeout) // it serves when it has a leader
	defer cancel()
	granted, err := client.Grant(ctx, int64(lockTTL/time.Second))
	if err != nil {
		return nil, err
	}
	session, err := concurrency.NewSession(client, concurrency.WithLease(granted.ID))
	return func(ctx context.Context) error {
		mutex := concurrency.NewMutex(session, scope)
		if err := mutex.Lock(ctx); err != nil {
			return err
		}
		return mutex.Unlock(ctx)
	}, err
}
