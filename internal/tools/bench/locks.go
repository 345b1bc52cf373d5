package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/pkg/lock/redislock"
	"github.com/fencelab/fencelab/pkg/lock/sqllock"
)

// manyClients is how many lock at the same time, where more than one does.
const manyClients = 16

const oneLock = "/lock"

func ownLock(client int) string { return fmt.Sprint("/lock-", client) }

// party is those who lock in one way. Each has a client of its own, or all share one.
type party struct {
	locks []locking
	ends  []func()
}

// gather makes a party of so many members.
func (w way) gather(members int) (p party) {
	for i := range members {
		if i > 0 && w.shared {
			p.locks = append(p.locks, p.locks[0])
			continue
		}
		named(w.name, fail.Caught(func() {
			take, end := w.open(w.server.addr, w.ttl)
			p.locks, p.ends = append(p.locks, take), append(p.ends, end)
		}))
	}
	return p
}

func (p party) close() {
	for _, end := range p.ends {
		end()
	}
}

// raceLocks has clients lock and unlock in each way, each the lock that scope names.
func (b *bench) raceLocks(clients int, scope func(client int) string, ways ...way) []result {
	var cs []contender
	for _, w := range ways {
		p := w.gather(clients)
		defer p.close()
		cs = append(cs, contender{w.name, working(clients, 1, func(ctx context.Context, i int) {
			p.locks[i](ctx, scope(i))(ctx)
		}), w.server})
	}
	return b.race(cs...)
}

// ownLocks has clients lock and unlock locks of their own in the ways of a service, of which the
// second one is by the bare requests. The first one is to take at most so many times its time.
func (b *bench) ownLocks(t *table, service string, lead []string, most float64, ways []way, figures ...figure) {
	b.sweep(t, lead, []int{1, manyClients}, func(clients int) []result { return b.raceLocks(clients, ownLock, ways...) },
		goal{what: "lock and unlock in " + service + ", by clients; time of the " + ways[1].name + "'", aim: atMost, want: most}, figures...)
}

func (b *bench) inEtcd() {
	etcd := b.launch(startEtcd)
	t := b.report.table("Lock and unlock in etcd",
		"A lock is taken and released at once, by etcdlock and by a Mutex of package concurrency whose session is kept. Each client has a connection, and a Backend or a session, of its own.",
		"clients", "locks", "", "locks/s", "of concurrency.Mutex, time", "processor time a lock of etcd, client")
	for _, c := range []struct {
		clients int
		locks   string
		scope   func(client int) string
	}{
		{1, "a free one", ownLock},
		{manyClients, "one each", ownLock},
		{manyClients, "one for all", func(int) string { return oneLock }},
	} {
		results := b.raceLocks(c.clients, c.scope,
			way{"etcdlock", byEtcdlock, etcd, false, lockTTL},
			way{"concurrency.Mutex", byMutex, etcd, false, lockTTL})
		t.compare([]string{strconv.Itoa(c.clients), c.locks}, results, results[1], timeOf, processorTime)
		b.report.reach(goal{what: "lock and unlock, etcdlock against concurrency.Mutex with a kept session, by clients; time of the Mutex's",
			of: fmt.Sprintf("%d, %s", c.clients, c.locks), aim: atMost, want: 1.6}, results[0], results[1])
	}
}

func (b *bench) inRedis() {
	s := b.launch(startRedis)
	ours := way{"redislock", byRedislock(), s, false, lockTTL}
	fair := way{"redislock, Fair", byRedislock(redislock.Fair()), s, false, lockTTL}
	bare := way{"bare commands", byCommands, s, false, lockTTL}
	t := b.report.table("Lock and unlock in Redis",
		"A free lock is taken and released at once: by redislock; by the bare commands that a lock takes at the least, SET NX PX and a script that compares and deletes; by scripts, the least that a lock with a token takes, SET NX PX and INCR in one script; and by two libraries that do without a token. All use go-redis, and each client has a connection and a lock of its own. In rows \"pipelined\" all clients share an AutoPipeliner of go-redis, which sends concurrent requests together.",
		"clients", "", "locks/s", "of the bare commands, time", "processor time a lock of Redis, client")
	b.ownLocks(t, "Redis", nil, 1.15, []way{ours, bare,
		{"scripts", byScripts, s, false, lockTTL},
		{"redsync 4.18.0", byRedsync, s, false, lockTTL},
		{"bsm/redislock 0.9.4", byBsm, s, false, lockTTL},
		{"redislock, pipelined", with(dialPipelined, redislocks[*redis.AutoPipeliner]()), s, true, lockTTL},
		{"bare commands, pipelined", with(dialPipelined, commands[*redis.AutoPipeliner]), s, true, lockTTL}}, timeOf, processorTime)
	t = b.report.table("Hand-over in Redis",
		"From the call of Unlock until a waiter has the lock. Each has a client of its own, as if all were processes, unless the row says otherwise. Each holder keeps the lock for 10 ms, and waits again when the next one has it. Polling is by the bare commands. *requests*: what Redis read of all clients, with the unlock and the next wait.",
		"waiters", "", "hand-overs", "p50, ms", "p99, ms", "of polling, p50", "requests a hand-over")
	shared := way{"redislock, one client for all", ours.open, s, true, lockTTL}
	polls := way{polling, byCommands, s, false, lockTTL}
	client, end := dialRedis(s.addr)
	defer end()
	told := readBy(client)
	b.handOver(t, nil, []int{1, 16, 64}, told, ours, shared, fair, polls)
	ours.ttl, fair.ttl = waitTTL, waitTTL // nothing renews the lock of who polls
	b.waiting(told, ours, fair, polls)
	b.redisWrites(s)
}

func (b *bench) inDatabases() {
	locks := b.report.table("Lock and unlock in databases",
		"A free lock is taken and released at once: by sqllock; and by two UPDATEs of a row, which are the least that a lock takes, without a token. SQLite parses their text each time, and sqllock's once. Each client has a connection and a lock of its own. The servers do not sync what they commit.",
		"", "clients", "", "locks/s", "bare statements, locks/s", "of the bare statements, time")
	locks.pairs = true
	passed := b.report.table("Hand-over in databases",
		"As in \"Hand-over in Redis\". Who polls by the bare statements asks every 100 ms. sqllock does so, too, but its first four pauses are shorter; with Notify PostgreSQL tells who waits.",
		"", "waiters", "", "hand-overs", "p50, ms", "p99, ms", "of polling, p50")
	written := b.report.table("Fenced writes in databases",
		"A write to one of 1,000 rows: by an UPDATE that has the token as its condition (Update of fencesql), and by the bare UPDATE; by a transaction with the check of a mark (Do of fencesql), and by the same transaction without. Each connection writes rows and shows scopes of its own. The servers do not sync what they commit.",
		"", "connections", "", "with a fence, writes/s", "without, writes/s", "of the bare, time")
	written.pairs = true
	for _, d := range databases {
		err := b.inGroup(func() {
			s := b.launch(d.start)
			ours := way{"sqllock", d.bySQLLock(), s, true, lockTTL}
			bare := way{"bare statements", d.byStatements(), s, true, lockTTL}
			b.ownLocks(locks, d.name, []string{d.name}, 1.2, []way{ours, bare}, timeOf)
			bare.name = polling
			ways := []way{ours, bare}
			if d.locks == sqllock.PostgreSQL {
				ours.name, ours.open = "sqllock, Notify", d.bySQLLock(sqllock.Notify(listening(s.addr)))
				ways = slices.Insert(ways, 1, ours)
			}
			b.handOver(passed, []string{d.name}, []int{1, 16}, nil, ways...)
			b.sqlWrites(d, s, written)
		})
		named(d.name, b.report.unless("Locks and fenced writes in "+d.name, err))
	}
}

func (b *bench) inZooKeeper() {
	s := b.launch(startZooKeeper)
	ways := []way{{"zklock", byZKLock, s, true, lockTTL}, {"bare requests", byNodes, s, true, lockTTL}}
	t := b.report.table("Lock and unlock in ZooKeeper",
		"A free lock is taken and released at once: by zklock; and by the creation of a node, a look at the queue, and the deletion of the node, which are the least that a lock takes. Each client has a lock of its own, and all clients of a kind share a session.",
		"", "clients", "", "locks/s", "bare requests, locks/s", "of the bare requests, time")
	t.pairs = true
	b.ownLocks(t, "ZooKeeper", []string{"ZooKeeper"}, 1.2, ways, timeOf)
	t = b.report.table("Hand-over in ZooKeeper",
		"As in \"Hand-over in Redis\", but all who wait share a session, and nobody polls: each is told when the node before its own is gone.",
		"waiters", "", "hand-overs", "p50, ms", "p99, ms", "of the bare requests, p50")
	b.handOver(t, nil, []int{1, 16, 64}, nil, ways...)
}

// hold is how long a holder keeps the lock before it hands it over. Meanwhile the others come to wait.
const hold = 10 * time.Millisecond

const polling = "polling every 100 ms"

// passing is how a lock is passed on in a way.
type passing struct {
	name   string
	locks  []locking
	all    []float64 // ms of each hand-over
	median []float64 // ms, a value a round
	asked  []float64 // requests a hand-over, a value a round
}

// handOver measures how long it takes from an unlock to the grant of the next one. The last way
// is the one with which the others are compared.
func (b *bench) handOver(t *table, lead []string, waiters []int, told reads, ways ...way) {
	for _, n := range waiters {
		passed := b.pass(n, told, ways...)
		for _, p := range passed {
			row := append(slices.Clone(lead), strconv.Itoa(n), p.name, strconv.Itoa(len(p.all)), number(quantile(p.all, 50)), number(quantile(p.all, 99)),
				ratios(p.median, passed[len(passed)-1].median).String())
			if told != nil {
				row = append(row, number(spreadOf(p.asked).median))
			}
			t.add(row...)
		}
	}
}

// pass has a lock passed on in each way, in turns.
func (b *bench) pass(waiters int, told reads, ways ...way) []*passing {
	list := make([]*passing, len(ways))
	for i, w := range ways {
		p := w.gather(waiters + 1)
		defer p.close()
		list[i] = &passing{name: w.name, locks: p.locks}
	}
	b.inTurns(len(list), func(i int) {
		p := list[i]
		named(p.name, fail.Caught(func() {
			took, requests := relay(p.locks, told, b.turn)
			p.all = append(p.all, took...)
			p.median = append(p.median, quantile(took, 50))
			p.asked = append(p.asked, float64(requests)/float64(len(took)))
		}))
	})
	return list
}

// reads is how many requests a server has read since it began, this question included.
type reads func(context.Context) int

// readBy asks a Redis.
func readBy(client *redis.Client) reads {
	return func(ctx context.Context) int {
		info := fail.Must(client.InfoMap(ctx, "stats").Result())
		return fail.Must(strconv.Atoi(info["Stats"]["total_reads_processed"]))
	}
}

// since is how many requests the server has read since read returned before.
func (read reads) since(ctx context.Context, before int) int {
	return read(ctx) - 1 - before // 1: this question
}

// relay has a lock passed on for about d, of which the first quarter is to warm up. It
// returns how many ms each hand-over took, and how many requests the server read, if that is told.
func relay(locks []locking, told reads, d time.Duration) (took []float64, requests int) {
	if told == nil {
		told = func(context.Context) int { return 0 }
	}
	start := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(d+turnSlack))
	defer cancel()
	h := &heat{told: told, warm: start.Add(d / 4), end: start.Add(d), passed: make(chan struct{}, 1)}
	g, ctx := errgroup.WithContext(ctx) // who ends the heat ends the others' wait
	for _, take := range locks {
		begin(g, func() { h.runner(ctx, take) })
	}
	if err := g.Wait(); err != errOver {
		fail.If(err)
	}
	return h.took, h.requests
}

type heat struct {
	told      reads
	warm, end time.Time
	passed    chan struct{} // tells a holder that the next one has the lock

	mu       sync.Mutex
	counting bool
	over     bool
	unlocked time.Time // when Unlock was called last; zero: nobody has held the lock yet
	took     []float64
	before   int // requests that the server had read when counting began
	requests int // and those since then, in the end
}

const relayScope = "/relay"

var errOver = errors.New("the heat is over")

// runner takes its turns until it fails, with errOver in the end.
func (h *heat) runner(ctx context.Context, take locking) {
	for {
		unlock := take(ctx, relayScope)
		over := h.arrive(ctx, time.Now())
		if !over {
			time.Sleep(hold)
		}
		h.mu.Lock()
		h.unlocked = time.Now()
		h.mu.Unlock()
		unlock(context.WithoutCancel(ctx))
		if over {
			fail.If(errOver)
		}
		select {
		case <-h.passed:
		case <-ctx.Done():
			fail.If(ctx.Err())
		}
	}
}

// arrive notes a grant. It reports whether there are to be no more.
func (h *heat) arrive(ctx context.Context, granted time.Time) (over bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return true
	}
	if !h.unlocked.IsZero() {
		h.passed <- struct{}{}
	}
	if h.counting {
		h.took = append(h.took, milliseconds(granted.Sub(h.unlocked)))
		h.over = granted.After(h.end)
	}
	switch {
	case h.over:
		h.requests = h.told.since(ctx, h.before)
	case !h.counting && granted.After(h.warm):
		h.counting = true
		h.before = h.told(ctx)
	}
	return h.over
}

// waitTTL is the TTL of the lock for which clients wait. With a longer TTL they would ask less often.
const waitTTL = 2 * time.Second

// waiting measures how often those who wait ask.
func (b *bench) waiting(told reads, ways ...way) {
	t := b.report.table("Waiting in Redis",
		fmt.Sprintf("Requests that Redis reads while one client keeps a lock, which redislock renews, and others wait for it, with a client each. The TTL is %v; with a longer one redislock asks less. *for each waiter*: the requests beyond those without waiters.", waitTTL),
		"waiters", "", "requests/s", "for each waiter")
	alone := make([]float64, len(ways))
	for _, waiters := range []int{0, 1, 16, 64} {
		for i, way := range ways {
			var requests float64
			named(way.name, fail.Caught(func() { requests = b.wait(told, waiters, way) }))
			each := ""
			if waiters == 0 {
				alone[i] = requests
			} else {
				each = number((requests - alone[i]) / float64(waiters))
			}
			t.add(strconv.Itoa(waiters), way.name, number(requests), each)
		}
	}
}

// wait has one client keep a lock while others wait for it, and returns the requests a second of all of them.
func (b *bench) wait(told reads, waiters int, way way) (perSecond float64) {
	const scope = "/waiting"
	p := way.gather(1 + waiters)
	defer p.close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	unlock := p.locks[0](ctx, scope)
	var g errgroup.Group
	for _, take := range p.locks[1:] {
		begin(&g, func() {
			switch err := fail.Caught(func() { take(ctx, scope) }); {
			case err == nil:
				fail.If(errNotOurs)
			case ctx.Err() == nil:
				fail.If(err)
			}
		})
	}
	time.Sleep(b.turn) // to warm up
	before, start := told(ctx), time.Now()
	time.Sleep(b.latency)
	requests, took := told.since(ctx, before), time.Since(start)
	stop()
	fail.If(errors.Join(g.Wait(), fail.Caught(func() { unlock(context.Background()) })))
	return float64(requests) / took.Seconds()
}
