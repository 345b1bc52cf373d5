package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

// work goes on for about d, and says how many operations that were and how long they took.
type work func(d time.Duration) (ops int, took time.Duration)

type contender struct {
	name   string
	turn   work
	server *server // whose processor time is told; nil: nobody's
}

// result is what a contender did, a value a round.
type result struct {
	name   string
	rates  []float64 // operations a second
	server []float64 // µs of processor time an operation, of its server
	client []float64 // and of this process, which is the client
}

// race gives each contender a turn in every round, in changing order, so that
// whatever else the machine does hits all.
func (b *bench) race(cs ...contender) []result {
	results := make([]result, len(cs))
	for i, c := range cs {
		results[i].name = c.name
		named(c.name, fail.Caught(func() { c.turn(b.turn / 2) })) // to warm up
	}
	b.inTurns(len(cs), func(i int) {
		named(cs[i].name, fail.Caught(func() { cs[i].measure(b.turn, &results[i]) }))
	})
	return results
}

// inTurns has each one do its turn in every round. Every second round goes backwards: a server
// that was idle is slow at first, and who comes first at it warms it up for the next one.
func (b *bench) inTurns(n int, do func(i int)) {
	for round := range b.rounds {
		for i := range n {
			turn := (i + round) % n
			if round%2 == 1 {
				turn = n - 1 - turn
			}
			do(turn)
		}
	}
}

// sweep races with each of some numbers of clients, and adds what comes of that to a table, of
// which the number is a column after what leads. The second contender is the reference; g is a
// goal for the first, in the case of each number.
func (b *bench) sweep(t *table, lead []string, numbers []int, race func(n int) []result, g goal, figures ...figure) {
	for _, n := range numbers {
		results := race(n)
		t.compare(append(slices.Clone(lead), strconv.Itoa(n)), results, results[1], figures...)
		g.of = strconv.Itoa(n)
		b.report.reach(g, results[0], results[1])
	}
}

// turnSlack is for how much longer than a turn an answer may take.
const turnSlack = 30 * time.Second

// working is the work of workers at the same time, each of which does ops operations again and again.
func working(workers, ops int, do func(ctx context.Context, worker int)) work {
	return func(d time.Duration) (int, time.Duration) {
		end := time.Now().Add(d)
		ctx, cancel := context.WithDeadline(context.Background(), end.Add(turnSlack))
		defer cancel()
		more := func(int) bool { return time.Now().Before(end) }
		n, took := repeat(workers, more, func(worker int) { do(ctx, worker) })
		return n * ops, took
	}
}

// writing is the work of writers that write at the same time, each one key after another. n is
// the number of the write, for key.
func writing(writers int, write func(ctx context.Context, writer, n int)) work {
	next := make([]int, writers) // of each, its next write
	return working(writers, 1, func(ctx context.Context, i int) {
		n := next[i]*writers + i
		next[i]++
		write(ctx, i, n)
	})
}

// eachOnce has workers do something with the numbers below n, each once, and about in their order.
func eachOnce(workers, n int, do func(i int)) {
	var g errgroup.Group
	for w := range workers {
		begin(&g, func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	fail.If(g.Wait())
}

// repeat has workers work at the same time, each as long as it has more to do. It says how
// often they did and how long it took.
func repeat(workers int, more func(worker int) bool, do func(worker int)) (total int, took time.Duration) {
	start := time.Now()
	var g errgroup.Group
	counts := make([]int, workers)
	for i := range workers {
		begin(&g, func() {
			for ; more(i); counts[i]++ {
				do(i)
			}
		})
	}
	fail.If(g.Wait())
	for _, n := range counts {
		total += n
	}
	return total, time.Since(start)
}

func (c contender) measure(d time.Duration, r *result) {
	client, server := c.server.used()
	ops, took := c.turn(d)
	client2, server2 := c.server.used()
	perOp := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(ops) }
	r.rates = append(r.rates, float64(ops)/took.Seconds())
	r.client = append(r.client, perOp(client2-client))
	r.server = append(r.server, perOp(server2-server))
}

// used is the processor time that this process and the server have taken so far; 0 of a server
// that is nil, or whose processes are not known.
func (s *server) used() (client, server time.Duration) {
	var t unix.Timespec
	fail.If(unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t))
	client = time.Duration(t.Nano())
	if s == nil || s.Process == nil {
		return client, 0
	}
	// clock_getcpuclockid(3) makes the clock of a process of its id like this.
	const schedClock = 2
	named(fmt.Sprintf("processor time of process %d", s.PID()), unix.ClockGettime(int32(^s.PID()<<3|schedClock), &t))
	return client, time.Duration(t.Nano())
}

// spread is how far values of several rounds lie apart: the median, and the
// quartiles, between which half of them are; and the highest.
type spread struct{ lower, median, upper, highest float64 }

func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	quarter := len(s) / 4
	return spread{s[quarter], s[len(s)/2], s[len(s)-1-quarter], s[len(s)-1]}
}

// quantile is the least value that so many percent of all don't exceed.
func quantile(values []float64, percent float64) float64 {
	s := slices.Sorted(slices.Values(values))
	return s[max(0, int(math.Ceil(float64(len(s))*percent/100))-1)]
}

// ratios is the spread of a's values as parts of b's of the same round.
func ratios(a, b []float64) spread {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] / b[i]
	}
	return spreadOf(all)
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
