package main

import (
	"fmt"
	"slices"
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
// quartiles, between which half of them are.
type spread struct{ lower, median, upper float64 }

func spreadOf(values []float64) spread {
	s := slices.Sorted(slices.Values(values))
	quarter := len(s) / 4
	return spread{s[quarter], s[len(s)/2], s[len(s)-1-quarter]}
}

// of is the spread of a's values as parts of b's of the same round.
func of(a, b []float64) spread {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return spreadOf(ratios)
}
