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
)

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
		fmt.Sprintf("Requests that Redis reads while one client keeps a lock, which redislock renews, and others wait for it, with a client each. The TTL is %v; with a longer one redislock asks less. Polling is by the bare commands. *for each waiter*: the requests beyond those without waiters.", waitTTL),
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
