package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/pkg/lock/zklock"
)

// wantZKLocks is the goal: zklock takes at most so many times the time of the bare requests.
const wantZKLocks = 1.2

// zkTimeout is that of sessions. None is to end.
const zkTimeout = 30 * time.Second

const bareRequests = "bare requests"

// inZooKeeper measures the locks that the project has in ZooKeeper.
func (b *bench) inZooKeeper() error {
	where, bring := zkproc.Found()
	if where == "" {
		b.report.note("Locks in ZooKeeper", "Not measured: ZooKeeper is missing ("+bring+").")
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // Java starts slowly
	defer cancel()
	cluster, err := zkproc.Start(ctx, b.group, 1)
	if err != nil {
		return err
	}
	ours, bare, end, err := zkLocks(cluster.Endpoints())
	if err != nil {
		return err
	}
	defer end()
	return errors.Join(b.raceZKLocks(ours, bare), b.passZKLocks(ours, bare))
}

// zkLocks are both ways to lock, each with a session.
func zkLocks(servers []string) (ours, bare locking, end func(), err error) {
	backend, err := zklock.New(servers, zkTimeout)
	if err != nil {
		return nil, nil, nil, err
	}
	conn, _, err := zk.Connect(servers, zkTimeout, zk.WithLogInfo(false))
	if err != nil {
		return nil, nil, nil, err
	}
	return lockingBy(backend), byRequests(conn), func() { backend.Close(); conn.Close() }, nil
}

// byRequests locks by the least that a lock takes: a node, a look at the queue, and a watch
// of the node before.
func byRequests(conn *zk.Conn) locking {
	return func(ctx context.Context, scope string) (func(context.Context) error, error) {
		dir := "/bare" + scope
		node, err := conn.Create(dir+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNoNode) {
			for _, parent := range []string{"/bare", dir} {
				if _, err := conn.Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
					return nil, err
				}
			}
			node, err = conn.Create(dir+"/lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		}
		if err != nil {
			return nil, err
		}
		free := func(context.Context) error { return conn.Delete(node, -1) }
		if err := awaitFirst(ctx, conn, dir, path.Base(node)); err != nil {
			return nil, errors.Join(err, free(ctx))
		}
		return free, nil
	}
}

// awaitFirst returns when a node is the first of its queue.
func awaitFirst(ctx context.Context, conn *zk.Conn, dir, name string) error {
	for {
		names, _, err := conn.Children(dir)
		if err != nil {
			return err
		}
		slices.SortFunc(names, strings.Compare)
		place := slices.Index(names, name)
		if place <= 0 {
			return nil
		}
		there, _, changed, err := conn.ExistsW(dir + "/" + names[place-1])
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// raceZKLocks compares zklock with the requests that lock.
func (b *bench) raceZKLocks(ours, bare locking) error {
	t := b.report.table("Lock and unlock in ZooKeeper",
		"A free lock is taken and given back at once: by zklock; and by the creation of a node, a look at the queue, and the deletion of the node, which are the least that a lock takes. Each client has a lock of its own, and all clients of a kind share a session. *of the bare requests*: the time that a lock and its unlock take as a part of theirs, of the same round.",
		"", "clients", "", "locks/s", "of the bare requests, time")
	for _, clients := range []int{1, 16} {
		results, err := b.race(
			contender{"zklock", ownLocks(clients, ours), nil},
			contender{bareRequests, ownLocks(clients, bare), nil})
		if err != nil {
			return err
		}
		t.compareClock("ZooKeeper", clients, results[1], results...)
		b.report.goal(fmt.Sprintf("lock and unlock in ZooKeeper, clients: %d; time of the bare requests'", clients),
			atMost, wantZKLocks, ratios(results[1].rates, results[0].rates))
	}
	return nil
}

// passZKLocks measures how long it takes from an unlock to the grant of the next one.
func (b *bench) passZKLocks(ours, bare locking) error {
	t := b.report.table("Hand-over in ZooKeeper",
		"As in \"Hand-over in Redis\", but all who wait share a session, and nobody polls: each is told when the node before its own is gone. *of the bare requests*: p50 as a part of theirs, of the same round.",
		"waiters", "", "hand-overs", "p50, ms", "p99, ms", "of the bare requests, p50")
	for _, waiters := range []int{1, 16, 64} {
		ways := []*passing{{name: "zklock", join: together(ours)}, {name: bareRequests, join: together(bare)}}
		if err := b.pass(waiters, ways); err != nil {
			return err
		}
		for _, way := range ways {
			t.add(way.row(waiters, ways[1])...)
		}
	}
	return nil
}
