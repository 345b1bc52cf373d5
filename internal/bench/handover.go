package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/pkg/lock/redislock"
)

// hold is how long a holder keeps the lock before it hands it over. Meanwhile the others
// come to wait.
const hold = 10 * time.Millisecond

const polling = "polling every 100 ms"

// passing is a way to lock by which a lock is passed on.
type passing struct {
	name string
	join func(runners int) (*relay, error)

	relay    *relay
	median   []float64 // ms, a value a round
	requests []float64 // a hand-over, a value a round
	all      *hdrhistogram.Histogram
}

// passings are the ways to lock in a Redis.
func passings(s *server) []*passing {
	in := func(name string, way redisLock, shared bool) *passing {
		return &passing{name: name, join: func(runners int) (*relay, error) { return newRelay(s.addr, runners, way, shared) }}
	}
	ours, fair := redisLock{"redislock", byRedislock()}, redisLock{"redislock, Fair", byRedislock(redislock.Fair())}
	polls := redisLock{polling, byCommands}
	return []*passing{
		in(ours.name, ours, false),
		in("redislock, one client for all", ours, true),
		in(fair.name, fair, false),
		in(polls.name, polls, false),
	}
}

// handOver measures how long it takes from an unlock to the grant of the next one.
func (b *bench) handOver(s *server) error {
	t := b.report.table("Hand-over in Redis",
		"From the call of Unlock until one of those who wait has the lock. Each has a client of its own, as if all were processes, where no other thing is said. Each holder keeps the lock for 10 ms, and comes to wait again when the next one has it. Polling is by the bare commands. *of polling*: p50 as a part of that of polling, of the same round. *requests*: what Redis read of all clients, the unlock and the next wait included.",
		"waiters", "", "hand-overs", "p50, ms", "p99, ms", "of polling, p50", "requests a hand-over")
	for _, waiters := range []int{1, 16, 64} {
		ways := passings(s)
		if err := b.pass(waiters, ways); err != nil {
			return err
		}
		for _, way := range ways {
			t.add(append(way.row(waiters, ways[len(ways)-1]), number(spreadOf(way.requests).median))...)
		}
	}
	return nil
}

// pass has a lock passed on in each way, in turns.
func (b *bench) pass(waiters int, ways []*passing) (err error) {
	for _, way := range ways {
		if way.relay, err = way.join(waiters + 1); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		defer way.relay.close()
		way.all = newHistogram()
	}
	for round := range b.rounds {
		for n := range ways {
			way := ways[(n+round)%len(ways)]
			if err := way.measure(b.turn); err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
		}
	}
	return nil
}

// row has the cells that all tables of hand-overs have.
func (p *passing) row(waiters int, polls *passing) []string {
	return []string{strconv.Itoa(waiters), p.name, strconv.FormatInt(p.all.TotalCount(), 10), millis(p.all, 50), millis(p.all, 99),
		ratios(p.median, polls.median).String()}
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, precision) }

func millis(h *hdrhistogram.Histogram, quantile float64) string {
	return number(float64(h.ValueAtQuantile(quantile)) / 1e6)
}

func (p *passing) measure(d time.Duration) error {
	took, requests, err := p.relay.run(d)
	if err != nil {
		return err
	}
	p.median = append(p.median, float64(took.ValueAtQuantile(50))/1e6)
	p.requests = append(p.requests, float64(requests)/float64(took.TotalCount()))
	p.all.Merge(took)
	return nil
}

// relay is those who pass a lock on.
type relay struct {
	locks []locking
	told  teller
	close func()
}

// teller tells how many requests a server has read.
type teller interface {
	read(context.Context) (int, error)
	since(ctx context.Context, before int) (int, error)
}

func newRelay(addr string, runners int, way redisLock, shared bool) (*relay, error) {
	p, err := gather(addr, runners, lockTTL, way, shared)
	told := connectRedis(addr)
	return &relay{p.locks, counter{told}, func() { p.close(); told.Close() }}, err
}

// run passes the lock on for about d, of which the first quarter is to warm up. It
// returns how long each hand-over took, and how many requests Redis read.
func (r *relay) run(d time.Duration) (*hdrhistogram.Histogram, int, error) {
	start := time.Now()
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(d+turnSlack))
	defer cancel()
	h := &heat{relay: r, warm: start.Add(d / 4), end: start.Add(d), passed: make(chan struct{}, 1), took: newHistogram()}
	g, ctx := errgroup.WithContext(ctx) // who ends the heat ends the others' wait
	for _, take := range r.locks {
		g.Go(func() error { return h.runner(ctx, take) })
	}
	if err := g.Wait(); err != errOver {
		return nil, 0, err
	}
	return h.took, h.requests, nil
}

// heat is one run of a relay.
type heat struct {
	*relay
	warm, end time.Time
	passed    chan struct{} // tells a holder that the next one has the lock

	mu       sync.Mutex
	counting bool
	over     bool
	unlocked time.Time // when Unlock was called last; zero: nobody has held the lock yet
	took     *hdrhistogram.Histogram
	before   int // requests that Redis had read when counting began
	requests int // and those since then, in the end
}

// relayScope is the lock that is passed on.
const relayScope = "/relay"

var errOver = errors.New("the heat is over")

func (h *heat) runner(ctx context.Context, take locking) error {
	for {
		unlock, err := take(ctx, relayScope)
		if err != nil {
			return err
		}
		over, failed := h.arrive(ctx, time.Now())
		if !over {
			time.Sleep(hold)
		}
		h.leave()
		if err := errors.Join(failed, unlock(context.WithoutCancel(ctx))); err != nil {
			return err
		}
		if over {
			return errOver
		}
		select {
		case <-h.passed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// arrive notes a grant. It reports whether there are to be no more.
func (h *heat) arrive(ctx context.Context, granted time.Time) (over bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return true, nil
	}
	if !h.unlocked.IsZero() {
		h.passed <- struct{}{}
	}
	if h.counting {
		err = h.took.RecordValue(int64(granted.Sub(h.unlocked)))
		h.over = granted.After(h.end)
	}
	switch {
	case err != nil:
	case h.over:
		h.requests, err = h.told.since(ctx, h.before)
	case !h.counting && granted.After(h.warm):
		h.counting = true
		h.before, err = h.told.read(ctx)
	}
	return h.over, err
}

func (h *heat) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unlocked = time.Now()
}
