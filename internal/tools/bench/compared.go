package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// kind is a lock of the project's in a service, beside the requests that a lock takes there at the least.
type kind struct {
	name, bareIs string
	start        launcher
	open, bare   opener

	of   string                // what size is of
	size func(s *server) int64 // of what the service keeps; nil: it does not tell that
	// leases begins leases at a server, one for each client, and returns how a client renews its
	// own, by the least that it takes.
	leases func(addr string) (renew func(ctx context.Context, client int), end func())
}

func kinds() []kind {
	list := []kind{
		{"etcdlock", "Mutex of package concurrency, its session kept", startEtcd, byEtcdlock, byMutex, "file", sizeOfEtcd, etcdLeases},
		{"redislock", "SET NX PX, and a script that compares and deletes", startRedis, byRedislock(), byCommands, "memory", sizeOfRedis, redisLeases},
		{"redislock, Fair", "the same", startRedis, byRedislock(redislock.Fair()), byCommands, "", nil, nil},
	}
	for _, d := range databases {
		list = append(list, kind{"sqllock in " + d.name, "two UPDATEs", d.start, d.bySQLLock(), d.byStatements(), "file", d.sizeOfLocks, d.leases})
	}
	return append(list,
		kind{"zklock", "create, look at the queue, delete", startZooKeeper, byZKLock, byNodes, "", nil, nil},
		kind{"eslock", "create a document, delete it", startElasticsearch, byESLock, byDocument, "file", sizeOfElasticsearch, documentLeases})
}

// sized are those whose service tells its size.
func sized() []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool { return k.size == nil })
}

// compared measures the project's locks in all services, side by side.
func (b *bench) compared() {
	var list []kind
	var ours, pairs []way // pairs has the bare way after each of ours
	lacks := ""
	for _, k := range kinds() {
		var s *server
		lacks += lackOf(k.name, fail.Caught(func() { s = b.launch(k.start) }))
		if s == nil {
			continue
		}
		list = append(list, k)
		ours = append(ours, way{k.name, k.open, s, false, lockTTL})
		pairs = append(pairs, ours[len(ours)-1], way{k.name + ", bare", k.bare, s, false, lockTTL})
	}
	once := b.raceLocks(1, func(int) string { return oneLock }, pairs...)
	one, many := b.pass(1, nil, ours...), b.pass(manyClients, nil, ours...)
	freed := b.crashAll(ours)
	t := b.report.table("The locks side by side",
		fmt.Sprintf("All in one run, in turns, each in a server of its own. *lock and unlock*: one client takes a free lock and releases it at once. *bare*: the requests that a lock takes at the least, and the time of lock and unlock as a part of theirs. *hand-over*: as in [Hand-over in Redis](performance.md#hand-over-in-redis), where each has a Backend of its own: p50, and p99 in brackets. *free after a crash*: the holder is a process that has renewed its lease of %v, and gets a SIGKILL; the time until a waiter has the lock: the median of %d crashes, and the extremes in brackets.", crashTTL, b.crashes)+lacks,
		"lock", "lock and unlock, ms", "bare", "of bare, time", "hand-over, 1 waiter, ms", "hand-over, 16 waiters, ms", "free after a crash, s")
	for i, k := range list {
		mine, bare := once[2*i], once[2*i+1]
		t.add(k.name, number(1000/spreadOf(mine.rates).median), k.bareIs, timeOf(mine, bare), one[i].times(), many[i].times(),
			fmt.Sprintf("%s (%s to %s)", number(spreadOf(freed[i]).median), number(slices.Min(freed[i])), number(slices.Max(freed[i]))))
	}
}

func (p *passing) times() string {
	return number(quantile(p.all, 50)) + " (" + number(quantile(p.all, 99)) + ")"
}

// crashTTL is the TTL of the lease of a holder that crashes: etcd gives no shorter one.
const crashTTL = 2 * time.Second

// crashAll kills the holder of each lock, those of all locks at the same time: nearly
// all of it is to wait. It returns the seconds after which each was free, of each crash.
func (b *bench) crashAll(ways []way) [][]float64 {
	freed := make([][]float64, len(ways))
	for n := range b.crashes {
		var g errgroup.Group
		for i, w := range ways {
			begin(&g, func() {
				named(w.name+": crash", fail.Caught(func() {
					freed[i] = append(freed[i], b.crash(w, fmt.Sprint("/crash-", n)).Seconds())
				}))
			})
		}
		fail.If(g.Wait())
	}
	return freed
}

// crash kills the holder of a lock, and returns how long it takes until one who waits has it.
func (b *bench) crash(w way, scope string) time.Duration {
	holder := fail.Must(b.group.Start(roleHold, nil, roleHold, w.name, w.server.addr, scope))
	if line, err := bufio.NewReader(holder.Stdout).ReadString('\n'); line != held+"\n" {
		fail.If(errors.Join(err, holder.Ended()))
	}
	take, end := w.open(w.server.addr, crashTTL)
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), turnSlack)
	defer cancel()
	granted := make(chan error, 1)
	var at time.Time
	var unlock func(context.Context)
	go func() {
		err := fail.Caught(func() { unlock = take(ctx, scope) })
		at = time.Now()
		granted <- err
	}()
	select { // at any time between two renewals, of which there was one at the least
	case <-time.After(crashTTL + mathrand.N(crashTTL)):
	case err := <-granted:
		fail.If(errors.Join(err, errNotOurs))
	}
	killed := time.Now()
	fail.If(holder.Kill())
	fail.If(<-granted)
	unlock(ctx)
	return at.Sub(killed)
}

// held is what a holder says when it has the lock.
const held = "held"

// holdUntilKilled is a holder that renews its lease until it is killed. args are the lock's
// name, the server's address and the scope.
func holdUntilKilled(ctx context.Context, args []string) {
	i := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == args[0] })
	if i < 0 {
		fail.If(fmt.Errorf("there is no lock %q", args[0]))
	}
	take, end := kinds()[i].open(args[1], crashTTL)
	defer end()
	take(ctx, args[2])
	fmt.Println(held)
	<-ctx.Done()
	fail.If(context.Cause(ctx))
}
