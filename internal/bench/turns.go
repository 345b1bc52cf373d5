package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// contender is one of those that are compared. Its turn works for about d and
// says how many operations it did, and how long they took.
type contender struct {
	name   string
	turn   func(d time.Duration) (ops int, took time.Duration, err error)
	server *server // whose processor time is told; nil: nobody's
}

// result is what a contender did, a value a round.
type result struct {
	name   string
	rates  []float64 // operations a second
	server []float64 // µs of processor time an operation, of its server
	client []float64 // and of this process, which is the client
}

// used is the processor time an operation of server and client together.
func (r result) used() []float64 {
	both := make([]float64, len(r.server))
	for i := range both {
		both[i] = r.server[i] + r.client[i]
	}
	return both
}

// race gives each contender a turn in every round, in changing order, so that
// whatever else the machine does hits all.
func (b *bench) race(cs ...contender) ([]result, error) {
	results := make([]result, len(cs))
	for i, c := range cs {
		results[i].name = c.name
		if _, _, err := c.turn(b.turn / 2); err != nil { // to warm up
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for round := range b.rounds {
		for n := range cs {
			i := (n + round) % len(cs)
			if err := cs[i].measure(b.turn, &results[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", cs[i].name, err)
			}
		}
	}
	return results, nil
}

// turnSlack is for how much longer than a turn an answer may take.
const turnSlack = 30 * time.Second

// takeTurn has workers work at the same time until d is over, and says how often they
// did and how long it took.
func takeTurn(workers int, d time.Duration, work func(ctx context.Context, worker int) error) (int, time.Duration, error) {
	end := time.Now().Add(d)
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(turnSlack))
	defer cancel()
	return repeat(workers, until(end), func(worker int) error { return work(ctx, worker) })
}

// until has every worker work until then.
func until(end time.Time) (more func(worker int) bool) {
	return func(int) bool { return time.Now().Before(end) }
}

// repeat is the same, where each worker works as long as it has more to do.
func repeat(workers int, more func(worker int) bool, work func(worker int) error) (total int, took time.Duration, err error) {
	start := time.Now()
	var wg sync.WaitGroup
	counts, errs := make([]int, workers), make([]error, workers)
	for i := range workers {
		wg.Go(func() {
			for errs[i] == nil && more(i) {
				errs[i] = work(i)
				counts[i]++
			}
		})
	}
	wg.Wait()
	for i := range workers {
		if errs[i] != nil {
			return 0, 0, errs[i]
		}
		total += counts[i]
	}
	return total, time.Since(start), nil
}

func (c contender) measure(d time.Duration, r *result) error {
	client, server, err := c.used()
	if err != nil {
		return err
	}
	ops, took, err := c.turn(d)
	if err != nil {
		return err
	}
	client2, server2, err := c.used()
	if err != nil {
		return err
	}
	perOp := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(ops) }
	r.rates = append(r.rates, float64(ops)/took.Seconds())
	r.client = append(r.client, perOp(client2-client))
	r.server = append(r.server, perOp(server2-server))
	return nil
}

// used is the processor time that this process and the server have taken so far.
func (c contender) used() (client, server time.Duration, err error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0, 0, err
	}
	client = time.Duration(t.Nano())
	if c.server == nil {
		return client, 0, nil
	}
	// clock_getcpuclockid(3) makes the clock of a process of its id like this.
	const schedClock = 2
	if err := unix.ClockGettime(int32(^c.server.PID()<<3|schedClock), &t); err != nil {
		return 0, 0, fmt.Errorf("processor time of process %d: %w", c.server.PID(), err)
	}
	return client, time.Duration(t.Nano()), nil
}

// spread is how far values of several rounds lie apart: the median, and the
// quartiles, between which half of them are; and the highest.
type spread struct{ lower, median, upper, highest float64 }

func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	quarter := len(s) / 4
	return spread{s[quarter], s[len(s)/2], s[len(s)-1-quarter], s[len(s)-1]}
}

// ratios is the spread of a's values as parts of b's of the same round.
func ratios(a, b []float64) spread {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = a[i] / b[i]
	}
	return spreadOf(all)
}
